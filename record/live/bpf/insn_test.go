package bpf

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestProbeOffset(t *testing.T) {
	for _, tc := range []struct {
		code  string
		nop5  bool
		off   int
		cost  stepCost
		about string
	}{
		{"55 48 89 e5", false, 0, stepEmulated, "push rbp"},
		{"41 57 41 56", false, 0, stepEmulated, "push r15"},
		{"f3 0f 1e fa 55 48", false, 4, stepEmulated, "endbr64; push rbp"},
		{"f3 0f 1e fa 41 57", false, 4, stepEmulated, "endbr64; push r15"},
		{"f3 0f 1e fa 0f 1f 44 00 00 55", true, 4, stepOptimised, "endbr64; nop5, kernel optimises it"},
		{"f3 0f 1e fa 0f 1f 44 00 00 55", false, 9, stepEmulated, "endbr64; nop5; push"},
		{"f3 0f 1e fa e9 00 00 00 00", false, 4, stepEmulated, "endbr64; jmp: a thunk"},
		{"ff 25 00 00 00 00", false, 0, stepOutOfLine, "jmp [rip]: not emulated"},
		{"f3 0f 1e fa 48 83 ec 18", true, 0, stepOutOfLine, "endbr64; sub rsp: past it the stack is another"},
		{"48 89 f8 55", false, 0, stepOutOfLine, "mov rax,rdi; push: only what changes nothing is skipped"},
		{"66 90 55", false, 2, stepEmulated, "2-byte nop; push"},
		{"66 2e 0f 1f 84 00 00 00 00 00 55", false, 10, stepEmulated, "10-byte nop; push"},
		{"0f 1f 40 00 74 05", false, 4, stepEmulated, "4-byte nop; je"},
		{"0f 1f", false, 0, stepOutOfLine, "cut"},
		{"f3 0f 1e fa", false, 0, stepOutOfLine, "endbr64 alone"},
		{"", false, 0, stepOutOfLine, "nothing"},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(tc.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if off, cost := probeOffset(code, tc.nop5); off != tc.off || cost != tc.cost {
			t.Errorf("%s: offset %d, cost %d; want %d, %d", tc.about, off, cost, tc.off, tc.cost)
		}
	}
}

func FuzzProbeOffset(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55}, true)
	f.Add([]byte{0x66, 0x2e, 0x0f, 0x1f, 0x84}, false)
	f.Fuzz(func(t *testing.T, code []byte, nop5 bool) {
		off, cost := probeOffset(code, nop5)
		if off < 0 || off > len(code) || off > 0 && cost == stepOutOfLine {
			t.Errorf("offset %d, cost %d of %x", off, cost, code)
		}
	})
}
