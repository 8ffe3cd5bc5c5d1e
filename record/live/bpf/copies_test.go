package bpf

import (
	"strings"
	"testing"
)

// Two copies of one library are told apart by their paths, and by their
// numbers where even those are the same; the only copy of a function needs
// nothing.
func TestProbesOfCopies(t *testing.T) {
	s := New(Options{})
	s.state = stateClosed
	add := func(ino uint64, path string, names ...string) {
		lib := &library{path: path, aliases: make([][]string, len(names))}
		for _, n := range names {
			lib.symbols = append(lib.symbols, &symbol{name: n})
		}
		s.libs[fileKey{1, ino}] = lib
		s.libOrder = append(s.libOrder, lib)
	}
	add(11, "/usr/lib/libcuda.so.1", "cuInit", "cuOnlyHere")
	add(12, "/opt/cuda/compat/libcuda.so.1", "cuInit")
	add(13, "/usr/lib/libcuda.so.1", "cuInit")
	var got []string
	for _, p := range s.Probes() {
		if strings.HasPrefix(p.Name, "cu") {
			got = append(got, p.Name+": "+p.Reason)
		}
	}
	want := []string{
		"cuInit: in /usr/lib/libcuda.so.1 (inode 11)", "cuOnlyHere: ",
		"cuInit: in /opt/cuda/compat/libcuda.so.1",
		"cuInit: in /usr/lib/libcuda.so.1 (inode 13)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}
