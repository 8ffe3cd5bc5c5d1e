package perfetto

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Interned strings are forgotten beyond these, with a packet that says so.
const (
	maxInterned      = 1 << 17
	maxInternedBytes = 16 << 20
)

// table is one kind of interned string: iids from 1.
type table struct {
	field  byte // of InternedData
	ids    map[string]uint64
	recent [256]recentID
}

// recentID is a string as it was given, with its iid. That it is kept makes its
// address tell which it is.
type recentID struct {
	text string
	id   uint64
}

// recentOf is the place of a string among the recent ones.
func (t *table) recentOf(s string) *recentID {
	p := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	return &t.recent[(p>>3^p>>11^uintptr(len(s)))%uintptr(len(t.recent))]
}

func (t *table) forget() {
	t.ids = map[string]uint64{}
	clear(t.recent[:])
}

// forget drops all interned strings; the next packet says that they are gone.
func (w *pen) forget() {
	clear(w.cats[:])
	clear(w.args[:])
	clear(w.words[:])
	clear(w.links[:])
	w.catNames.forget()
	w.names.forget()
	w.strs.forget()
	w.nextCat, w.nextArg, w.interned, w.bytes = 0, 0, 0, 0
	w.fresh = true
}

// define adds a new interned string to the packet.
func (w *pen) define(field byte, iid uint64, s string) {
	var e [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(e[:], iid)
	body := 1 + n + 1 + uvarintLen(uint64(len(s))) + len(s)
	w.in = binary.AppendUvarint(w.in, uint64(field)<<3|2)
	w.in = binary.AppendUvarint(w.in, uint64(body))
	w.in = append(w.in, 1<<3)
	w.in = append(w.in, e[:n]...)
	w.in = appendString(w.in, 2, s)
	w.interned++
	w.bytes += len(s)
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// valid returns s as UTF-8: a reader may refuse the whole packet otherwise.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder // not ToValidUTF8, which takes several such bytes for one
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// maxRecent is the length up to which a string is kept as it was given.
const maxRecent = 256

func (w *pen) intern(t *table, s string) uint64 {
	r := t.recentOf(s)
	if len(r.text) == len(s) && unsafe.StringData(r.text) == unsafe.StringData(s) && r.id != 0 {
		return r.id
	}
	id, ok := t.ids[s]
	if !ok {
		id = uint64(len(t.ids)) + 1
		t.ids[s] = id
		w.define(t.field, id, valid(s))
	}
	if len(s) <= maxRecent {
		*r = recentID{s, id}
	}
	return id
}

func (w *pen) internBytes(t *table, s []byte) uint64 {
	if id, ok := t.ids[string(s)]; ok {
		return id
	}
	return w.intern(t, string(s))
}
