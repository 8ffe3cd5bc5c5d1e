package chromejson

import (
	"encoding/binary"
	"math"
)

// What became of a time.
type timeState uint8

const (
	timeNone    timeState = iota // there is none
	timeExact                    // whole nanoseconds
	timeRounded                  // it was finer
	timeRange                    // it does not fit
	timeBad                      // it is no number
)

// eightDigits returns the number that eight digits say.
func eightDigits(v uint64) uint64 {
	v ^= '0' * ones
	v = v*10 + v>>8
	const mask = 0x000000ff000000ff
	return (v&mask*(100+1000000<<32) + v>>16&mask*(1+10000<<32)) >> 32
}

// shortNumber reads one to eight digits, where the memory behind them may be
// looked at. ok is false if they are none, more, or not known to be so.
func shortNumber(s []byte) (n uint64, ok bool) {
	if len(s) == 0 || len(s) > 8 || cap(s) < 8 {
		return 0, false
	}
	v := binary.LittleEndian.Uint64(s[:8])
	shift := uint(64 - 8*len(s))
	if noDigits(v)<<shift != 0 {
		return 0, false
	}
	// Zeros in front.
	return eightDigits((v^'0'*ones)<<shift ^ '0'*ones), true
}

// parseMicros turns decimal microseconds into nanoseconds, half a nanosecond
// and more away from zero. No float is involved: 16 digits before the point
// and three behind it keep their value.
func parseMicros(s []byte) (int64, timeState) {
	i, neg := 0, false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		i++
	}
	var v uint64
	from := i
	for i+8 <= min(len(s), 17) { // so many digits fit
		w := binary.LittleEndian.Uint64(s[i:])
		if noDigits(w) != 0 {
			break
		}
		v = v*1e8 + eightDigits(w)
		i += 8
	}
	for i < len(s) && s[i]-'0' <= 9 {
		if v >= math.MaxInt64/10 {
			return 0, timeRange
		}
		v = v*10 + uint64(s[i]-'0')
		i++
	}
	whole := i - from
	frac, scale, rest := uint64(0), uint64(1000), false
	half := byte(0)
	fracDigits := 0
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			c := s[i] - '0'
			switch {
			case fracDigits < 3:
				frac = frac*10 + uint64(c)
				scale /= 10
			case fracDigits == 3:
				half = c
				rest = rest || c != 0
			default:
				rest = rest || c != 0
			}
			fracDigits++
		}
	}
	if whole+fracDigits == 0 {
		return 0, timeBad
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		return parseMicrosExp(s)
	}
	if i < len(s) {
		return 0, timeBad
	}
	if v > (math.MaxInt64-1000)/1000 {
		return 0, timeRange
	}
	ns := int64(v*1000 + frac*scale)
	st := timeExact
	if rest {
		st = timeRounded
		if half >= 5 {
			ns++
		}
	}
	if neg {
		ns = -ns
	}
	return ns, st
}

// parseMicrosExp reads a time with an exponent, as printf's %g and some
// languages write large numbers: it moves the point and reads again.
func parseMicrosExp(s []byte) (int64, timeState) {
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg = s[0] == '-'
		s = s[1:]
	}
	e := 0
	for s[e]|0x20 != 'e' {
		e++
	}
	mant, exp := s[:e], s[e+1:]
	en := len(exp) > 0 && exp[0] == '-'
	if len(exp) > 0 && (exp[0] == '-' || exp[0] == '+') {
		exp = exp[1:]
	}
	if len(exp) == 0 || digits(exp) != len(exp) {
		return 0, timeBad
	}
	shift := 0
	for _, c := range exp {
		if shift = shift*10 + int(c-'0'); shift > 400 {
			shift = 400
		}
	}
	if en {
		shift = -shift
	}
	var all []byte // the digits without a point
	point := -1
	for _, c := range mant {
		if c == '.' {
			point = len(all)
			continue
		}
		all = append(all, c)
	}
	if point < 0 {
		point = len(all)
	}
	if len(all) > 400 {
		return 0, timeRange
	}
	point += shift
	var plain []byte
	if neg {
		plain = append(plain, '-')
	}
	if point <= 0 {
		plain = append(plain, '0', '.')
		for ; point < 0; point++ {
			plain = append(plain, '0')
		}
		return parseMicros(append(plain, all...))
	}
	for i := 0; i < max(point, len(all)); i++ {
		if i == point {
			plain = append(plain, '.')
		}
		c := byte('0')
		if i < len(all) {
			c = all[i]
		}
		plain = append(plain, c)
	}
	return parseMicros(plain)
}
