package bpf

// stepCost says how the kernel gets past the instruction that a uprobe replaced.
type stepCost uint8

const (
	stepEmulated  stepCost = iota // in the kernel: 0.7 µs a hit
	stepOptimised                 // 5-byte nop, from 6.18: a call instead of a trap, 0.5 µs
	stepOutOfLine                 // single-stepped: 9 µs
)

// probeOffset chooses where in a function to place a uprobe, given its first
// bytes: past endbr64 and nops, which change nothing that a probe reads, if
// what follows is cheap. It returns the offset and the cost of a hit there.
// nop5 says that the kernel optimises 5-byte nops.
func probeOffset(code []byte, nop5 bool) (int, stepCost) {
	off := 0
	for i := 0; i < 4; i++ {
		c := code[off:]
		switch {
		case nop5 && isNop5(c):
			return off, stepOptimised
		case emulated(c):
			return off, stepEmulated
		}
		n := harmless(c)
		if n == 0 {
			break
		}
		off += n
	}
	return 0, stepOutOfLine
}

// harmless returns the length of an endbr64 or nop, 0 for anything else.
func harmless(c []byte) int {
	switch {
	case len(c) >= 4 && c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa:
		return 4
	case len(c) >= 2 && c[0] == 0x66 && c[1] == 0x90:
		return 2
	}
	p := 0
	for p < len(c) && (c[p] == 0x66 || c[p] == 0x2e) && p < 8 {
		p++
	}
	if len(c) < p+3 || c[p] != 0x0f || c[p+1] != 0x1f {
		return 0
	}
	m := c[p+2]
	if m>>3&7 != 0 { // not the /0 form
		return 0
	}
	n := p + 3
	if m&7 == 4 && m>>6 != 3 {
		n++ // SIB
	}
	switch m >> 6 {
	case 1:
		n++
	case 2:
		n += 4
	case 0:
		if m&7 == 5 {
			n += 4
		}
	}
	if n > len(c) {
		return 0
	}
	return n
}

// isNop5 reports whether c begins with the 5-byte nop that compilers emit for patching.
func isNop5(c []byte) bool {
	return len(c) >= 5 && c[0] == 0x0f && c[1] == 0x1f && c[2] == 0x44 && c[3] == 0 && c[4] == 0
}

// emulated reports whether arch/x86/kernel/uprobes.c emulates the instruction:
// push of a register, nop, jumps and calls with a displacement.
func emulated(c []byte) bool {
	if len(c) == 0 {
		return false
	}
	op := c[0]
	if op == 0x41 && len(c) > 1 {
		return c[1]&^7 == 0x50
	}
	switch {
	case op&^7 == 0x50, op == 0x90, op == 0xe8, op == 0xe9, op == 0xeb, op&^0xf == 0x70:
		return true
	}
	return op == 0x0f && len(c) > 1 && c[1]&^0xf == 0x80
}
