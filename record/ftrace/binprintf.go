package ftrace

import (
	"strconv"
	"unicode/utf8"
)

// binPrinter prints the arguments that vbin_printf packed (lib/vsprintf.c):
// each lies at a multiple of its size, 8-byte ones at a multiple of 4; strings
// lie where they are, with their NUL.
type binPrinter struct {
	d    *Decoder
	args []byte
	off  int
	bad  bool // arguments are missing
	out  []byte
}

// verb is a conversion: %-08.3ld.
type verb struct {
	minus, plus, space, alt, zero bool
	width, prec                   int // prec -1: none
	size                          int // bytes of an integer
	c                             byte
}

// print appends format with its arguments; it reports whether all were there.
func (b *binPrinter) print(format []byte) bool {
	for i := 0; i < len(format) && len(b.out) < maxPrintText; {
		c := format[i]
		i++
		if c != '%' {
			b.out = append(b.out, c)
			continue
		}
		var v verb
		i = b.verb(format, i, &v)
		i = b.one(format, i, &v)
	}
	return !b.bad
}

// verb reads what follows a %, up to the conversion itself.
func (b *binPrinter) verb(f []byte, i int, v *verb) int {
	v.prec, v.size = -1, 4
flags:
	for ; i < len(f); i++ {
		switch f[i] {
		case '-':
			v.minus = true
		case '+':
			v.plus = true
		case ' ':
			v.space = true
		case '#':
			v.alt = true
		case '0':
			v.zero = true
		default:
			break flags
		}
	}
	v.width, i = b.count(f, i)
	if v.width < 0 {
		v.minus, v.width = true, -v.width
	}
	if i < len(f) && f[i] == '.' {
		v.prec, i = b.count(f, i+1)
	}
	for ; i < len(f); i++ {
		switch f[i] {
		case 'h':
			v.size /= 2
		case 'l', 'z', 'Z', 't':
			if f[i] == 'l' && i > 0 && f[i-1] == 'l' {
				v.size = 8
			} else {
				v.size = b.d.layout.LongSize
			}
		case 'L', 'q':
			v.size = 8
		default:
			v.c = f[i]
			return i + 1
		}
	}
	return i
}

// count reads a width: a number, or * and then it is an argument.
func (b *binPrinter) count(f []byte, i int) (int, int) {
	if i < len(f) && f[i] == '*' {
		n := int(int32(b.number(4)))
		return max(min(n, maxPrintText), -maxPrintText), i + 1
	}
	n := 0
	for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
		n = min(n*10+int(f[i]-'0'), maxPrintText)
	}
	return n, i
}

// one prints one conversion; it returns where the format goes on.
func (b *binPrinter) one(f []byte, i int, v *verb) int {
	switch v.c {
	case '%':
		b.out = append(b.out, '%')
	case 'c':
		b.pad(v, utf8.AppendRune(nil, rune(byte(b.number(1)))), 0)
	case 's':
		s := b.str()
		if v.prec >= 0 {
			s = s[:min(len(s), v.prec)]
		}
		b.pad(v, s, 0)
	case 'p':
		return b.pointer(f, i, v)
	case 'd', 'i':
		n := int64(b.number(v.size))
		shift := 64 - 8*uint(v.size)
		n = n << shift >> shift
		b.integer(v, n < 0, strconv.FormatUint(abs(n), 10))
	case 'u':
		b.integer(v, false, strconv.FormatUint(b.number(v.size), 10))
	case 'x', 'X', 'o':
		base, prefix := 16, "0x"
		if v.c == 'o' {
			base, prefix = 8, "0"
		}
		s := strconv.FormatUint(b.number(v.size), base)
		if v.alt {
			s = prefix + s
		}
		if v.c == 'X' {
			for k, c := range []byte(s) {
				if c >= 'a' && c <= 'z' {
					s = s[:k] + string(c-'a'+'A') + s[k+1:]
				}
			}
		}
		b.integer(v, false, s)
	default: // none that the kernel knows: printed as it stands
		b.out = append(b.out, '%')
		if v.c != 0 {
			b.out = append(b.out, v.c)
		}
	}
	return i
}

func abs(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (b *binPrinter) integer(v *verb, neg bool, digits string) {
	s := make([]byte, 0, 24)
	switch {
	case neg:
		s = append(s, '-')
	case v.c == 'd' || v.c == 'i':
		if v.plus {
			s = append(s, '+')
		} else if v.space {
			s = append(s, ' ')
		}
	}
	sign := len(s)
	for n := len(digits); n < v.prec && len(s) < maxPrintText; n++ {
		s = append(s, '0')
	}
	b.pad(v, append(s, digits...), sign)
}

// pad writes s in its width; zeros go behind the first sign bytes.
func (b *binPrinter) pad(v *verb, s []byte, sign int) {
	n := v.width - len(s)
	fill := byte(' ')
	if v.zero && !v.minus && v.prec < 0 && v.c != 's' && v.c != 'c' {
		fill = '0'
		b.out = append(b.out, s[:sign]...)
		s = s[sign:]
	}
	if v.minus {
		b.out = append(b.out, s...)
	}
	for ; n > 0; n-- {
		b.out = append(b.out, fill)
	}
	if !v.minus {
		b.out = append(b.out, s...)
	}
}

// pointer prints %p and its kin. Those that need the object behind the pointer
// were printed by the kernel when it packed them (since 4.16); a plain address,
// and %ps, %pS, %px, %pK, %pe (and %pf, %pF of older kernels), lie as such.
func (b *binPrinter) pointer(f []byte, i int, v *verb) int {
	var kind byte
	start := i
	for i < len(f) && (f[i] >= 'a' && f[i] <= 'z' || f[i] >= 'A' && f[i] <= 'Z' || f[i] >= '0' && f[i] <= '9') {
		i++
	}
	if i > start {
		kind = f[start]
	}
	switch kind {
	case 's', 'S', 'f', 'F':
		addr := b.number(b.d.layout.LongSize)
		if name := b.d.syms.find(addr); name != "" {
			b.pad(v, []byte(name), 0)
			return i
		}
		b.pad(v, strconv.AppendUint([]byte("0x"), addr, 16), 0)
	case 0, 'x', 'K', 'e':
		b.pad(v, strconv.AppendUint([]byte("0x"), b.number(b.d.layout.LongSize), 16), 0)
	default:
		b.pad(v, b.str(), 0)
	}
	return i
}

// number takes the next integer of size bytes.
func (b *binPrinter) number(size int) uint64 {
	align := max(min(size, 4), 1)
	off := (b.off + align - 1) &^ (align - 1)
	v, ok := b.d.number(b.args, &Field{Offset: off, Size: size})
	if !ok {
		b.bad = true
		return 0
	}
	b.off = off + size
	return v
}

// str takes the next string.
func (b *binPrinter) str() []byte {
	for i := b.off; i < len(b.args); i++ {
		if b.args[i] == 0 {
			s := b.args[b.off:i]
			b.off = i + 1
			return s
		}
	}
	b.bad = true
	s := b.args[min(b.off, len(b.args)):]
	b.off = len(b.args)
	return s
}
