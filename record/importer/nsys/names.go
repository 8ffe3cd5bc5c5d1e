package nsys

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Bounds of what is remembered.
const (
	maxText     = 64 << 10 // bytes of one text
	maxStrings  = 64 << 20 // bytes of the table of strings
	perString   = 64       // what an entry costs beside its text
	maxNameKeys = 1 << 16  // domains, categories
)

// stringTable is the table StringIds. It is read once; what goes beyond the bound
// (file contents stand in it, too) is looked up when it is asked for.
type stringTable struct {
	r          *reader
	byID       map[int64]string
	left       int // bytes
	whole      bool
	domains    nvtxNames
	categories nvtxNames
}

type nvtxKey struct{ pid, domain, category int64 }

// nvtxNames are names that a program gave to numbers.
type nvtxNames struct{ m map[nvtxKey]string }

func (n *nvtxNames) set(k nvtxKey, name string) {
	if n.m == nil {
		n.m = map[nvtxKey]string{}
	}
	if len(n.m) < maxNameKeys {
		n.m[k] = name
	}
}

func (n *nvtxNames) get(k nvtxKey, number int64) string {
	if s := n.m[k]; s != "" {
		return s
	}
	return strconv.FormatInt(number, 10)
}

func (s *stringTable) load() {
	s.byID, s.left, s.whole = map[int64]string{}, maxStrings, true
	rows, err := s.r.file.Rows("StringIds", "id", "value")
	if err != nil {
		s.r.damaged("StringIds", 0, err)
		return
	}
	defer rows.Close()
	for {
		ok, err := rows.Next()
		if err != nil {
			s.r.damaged("StringIds", rows.Read, err)
		}
		if !ok {
			return
		}
		id, ok := rows.Int(0)
		v := rows.Text(1)
		if len(v) > 4096 || !ok {
			s.whole = false
			continue
		}
		if s.left -= len(v) + perString; s.left < 0 {
			s.whole = false
			return
		}
		s.byID[id] = v
	}
}

// get returns the string of an id.
func (s *stringTable) get(id int64) string {
	if s.byID == nil {
		s.load()
	}
	if v, ok := s.byID[id]; ok {
		return v
	}
	v, ok := s.find(id)
	if !ok {
		s.r.count.AddAt(&AnomalyNoString, 1, "string "+strconv.FormatInt(id, 10))
		v = "string " + strconv.FormatInt(id, 10)
	}
	if len(s.byID) < maxStrings/perString && len(v) <= 4096 {
		s.byID[id] = v
	}
	return v
}

// find looks a string up that load left out.
func (s *stringTable) find(id int64) (string, bool) {
	if s.whole {
		return "", false
	}
	v, ok, err := s.r.file.Lookup("StringIds", "value", "id", id)
	if err != nil || !ok {
		return "", false
	}
	return s.r.cut(v), true
}

// cut bounds a text.
func (r *reader) cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	r.count.AddAt(&AnomalyLongString, 1, fmt.Sprintf("a text of %d bytes", len(s)))
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// labelOf returns what an ENUM table says of a number: its label, else its name.
func (r *reader) labelOf(enum string, v int64) string {
	m, ok := r.labels[enum]
	if !ok {
		m = map[int64]string{}
		r.labels[enum] = m
		r.each(enum, []string{"id", "label", "name"}, func(s *scan) {
			l := s.rows.Text(1)
			if l == "" {
				l = s.rows.Text(2)
			}
			if id, ok := s.rows.Int(0); ok && len(m) < maxNameKeys {
				m[id] = l
			}
		})
	}
	return m[v]
}

// label is labelOf for a column; a number without a label is given as it is.
func (r *reader) label(enum string, c *cursor, at int) string {
	v, ok := c.rows.Int(at)
	if !ok {
		return ""
	}
	if s := r.labelOf(enum, v); s != "" {
		return s
	}
	return strconv.FormatInt(v, 10)
}
