package parquet

import (
	"encoding/binary"
	"math/bits"
)

// bitmap is a bit for each row of a page.
type bitmap struct {
	words []uint64 // bits behind n are 0
	n     int
	ones  int
}

// add appends the low n bits of w, of which n is at most 64; the others are 0.
func (b *bitmap) add(w uint64, n int) {
	at := uint(b.n & 63)
	if at == 0 {
		b.words = append(b.words, w)
	} else {
		b.words[len(b.words)-1] |= w << at
		if int(at)+n > 64 {
			b.words = append(b.words, w>>(64-at))
		}
	}
	b.n += n
	b.ones += bits.OnesCount64(w)
}

func (b *bitmap) reset() { b.words, b.n, b.ones = b.words[:0], 0, 0 }

// octet returns bits 8i to 8i+7.
func (b *bitmap) octet(i int) byte { return byte(b.words[i>>3] >> (8 * (i & 7))) }

// appendPlain appends the bits as values of a BOOLEAN column are written.
func (b *bitmap) appendPlain(dst []byte) []byte {
	for i := range (b.n + 7) / 8 {
		dst = append(dst, b.octet(i))
	}
	return dst
}

// runOctets is how many equal octets are worth a run: it breaks what is packed in two.
const runOctets = 4

// appendLevels appends the bits as definition levels of 0 and 1: their size in
// four bytes, then runs of equal bits and packed bits (RLE, bit width 1).
func (b *bitmap) appendLevels(dst []byte) []byte {
	size := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch b.ones {
	case 0, b.n:
		dst = binary.AppendUvarint(dst, uint64(b.n)<<1)
		dst = append(dst, byte(min(b.ones, 1)))
	default:
		dst = b.appendRuns(dst)
	}
	binary.LittleEndian.PutUint32(dst[size:], uint32(len(dst)-size-4))
	return dst
}

func (b *bitmap) appendRuns(dst []byte) []byte {
	whole := b.n / 8
	packed := 0 // octets before this one are written
	for i := 0; i < whole; {
		v, end := b.octet(i), i+1
		if v == 0 || v == 0xff {
			for end < whole && b.octet(end) == v {
				end++
			}
		}
		if end-i >= runOctets {
			dst = b.appendPacked(dst, packed, i)
			dst = binary.AppendUvarint(dst, uint64(8*(end-i))<<1)
			dst = append(dst, v&1)
			packed = end
		}
		i = end
	}
	return b.appendPacked(dst, packed, (b.n+7)/8)
}

func (b *bitmap) appendPacked(dst []byte, from, to int) []byte {
	if from == to {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(to-from)<<1|1)
	for i := from; i < to; i++ {
		dst = append(dst, b.octet(i))
	}
	return dst
}
