package ftrace

import (
	"strings"
	"unicode/utf8"
)

// Interner gives one string for equal bytes, so that the few names of a trace
// are allocated once. Bytes that are no UTF-8 become U+FFFD: what is written
// later (protobuf, Parquet, JSON) takes nothing else. Its memory is bounded.
// The zero value is ready to use.
type Interner struct {
	fast [512]string // direct mapped, in front of the map
	all  map[string]string
}

const (
	maxInterned    = 1 << 15 // entries
	maxInternedLen = 512     // bytes of an entry
)

// Get returns b as a string.
func (in *Interner) Get(b []byte) string {
	n := len(b)
	if n == 0 {
		return ""
	}
	if n > maxInternedLen {
		return clean(b)
	}
	slot := &in.fast[(uint(b[0])*31+uint(b[n-1])*7+uint(b[n/2])*131+uint(n)*17)%uint(len(in.fast))]
	if *slot == string(b) {
		return *slot
	}
	s, ok := in.all[string(b)]
	if !ok {
		if in.all == nil || len(in.all) >= maxInterned {
			in.all = make(map[string]string)
		}
		s = clean(b)
		in.all[string(b)] = s
	}
	*slot = s
	return s
}

func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}
