package perfetto

// kernelIDs makes pids and tids such as a reader takes for real. 0 is the idle
// process, and what is negative or beyond 31 bits becomes 0 in some: those get
// a number of their own above all that a kernel gives. The zero value is ready.
type kernelIDs struct{ odd map[int64]uint64 }

// firstOddID is the first number that no kernel gives (PID_MAX_LIMIT is 2^22).
const firstOddID = 1 << 30

// id returns v, or the number that stands for it.
func (k *kernelIDs) id(v int64) uint64 {
	if v > 0 && v < firstOddID {
		return uint64(v)
	}
	n, ok := k.odd[v]
	if !ok {
		if k.odd == nil {
			k.odd = map[int64]uint64{}
		}
		n = firstOddID + uint64(len(k.odd))
		k.odd[v] = n
	}
	return n
}
