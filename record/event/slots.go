package event

// The methods of this file are for codecs, which move all fields of many
// events: they address a field by its place within its kind instead of
// looking it up. A place is valid within this program only and stands in no file.

// Place is where a kind keeps a field: its number among the kind's numbers or
// strings. The zero Place is none.
type Place struct {
	n   uint8 // 1-based
	str bool
}

// Place returns where k keeps f. It is not OK if k has no such field.
func (k Kind) Place(f Field) Place {
	if k >= NumKinds || f >= NumFields {
		return Place{}
	}
	s := slots[k][f]
	if s > maxNums {
		return Place{s - maxNums, true}
	}
	return Place{s, false}
}

// OK reports whether p is a place at all.
func (p Place) OK() bool { return p.n != 0 }

// IsString reports whether p holds a string.
func (p Place) IsString() bool { return p.str }

// Mask returns the bit of p in the masks of [Event.Mask]; 0 for no place.
func (p Place) Mask() uint32 {
	switch {
	case p.n == 0:
		return 0
	case p.str:
		return 1 << (maxNums + p.n - 1)
	}
	return 1 << (p.n - 1)
}

// Mask returns which fields e carries, as the sum of their places' masks.
// Events of one kind with equal masks carry the same fields.
func (e *Event) Mask() uint32 { return e.set }

// SetMask says which fields e carries. The values of those that were unknown
// before must be given by PutNum and PutStr.
func (e *Event) SetMask(m uint32) { e.set = m }

// Num returns the number at p, whether it is known or not.
func (e *Event) Num(p Place) uint64 {
	if i := p.n - 1; i < maxNums && !p.str {
		return e.nums[i]
	}
	return 0
}

// PutNum stores v at p, and leaves the mask alone. Nothing happens if p is no
// place of a number.
func (e *Event) PutNum(p Place, v uint64) {
	if i := p.n - 1; i < maxNums && !p.str {
		e.nums[i] = v
	}
}

// StrAt returns the string at p, whether it is known or not.
func (e *Event) StrAt(p Place) string {
	if i := p.n - 1; i < maxStrs && p.str {
		return e.strs[i]
	}
	return ""
}

// PutStr stores v at p, and leaves the mask alone. Nothing happens if p is no
// place of a string.
func (e *Event) PutStr(p Place, v string) {
	if i := p.n - 1; i < maxStrs && p.str {
		e.strs[i] = v
	}
}

// TextBytes returns the length of all strings in the fields of e.
func (e *Event) TextBytes() (n int) {
	for i := range e.strs {
		n += len(e.strs[i])
	}
	return n
}

// Equal reports whether e and o say the same: values of unknown fields do not count.
func (e *Event) Equal(o *Event) bool {
	if e.Time != o.Time || e.Kind != o.Kind || e.Flags != o.Flags || e.CPU != o.CPU ||
		e.PID != o.PID || e.TID != o.TID || e.set != o.set || e.Comm != o.Comm || e.Source != o.Source {
		return false
	}
	for i := range e.nums {
		if e.set&(1<<i) != 0 && e.nums[i] != o.nums[i] {
			return false
		}
	}
	for i := range e.strs {
		if e.set&(1<<(maxNums+i)) != 0 && e.strs[i] != o.strs[i] {
			return false
		}
	}
	return true
}

const _ uint32 = 1 << (maxNums + maxStrs - 1) // a mask has 32 bits
