package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with flags is said in the words of who typed them.
func TestWrongFlagsInWords(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{"report --frm x", "report has no flag --frm; see gpurec report --help"},
		{"report x --frm y", "report has no flag --frm; see gpurec report --help"},
		{"report -z x", "report has no flag -z; see gpurec report --help"},
		{"record -p abc -- true", `-p "abc" is no process id; see gpurec record --help`},
		{"record --pid 1,b -- true", `-p "1,b" is no process id; see gpurec record --help`},
		{"record --library " + script + " -- true", "--library " + script + ": is no ELF file; name a library or program"},
		{"record --library /nowhere/lib.so -- true", "--library /nowhere/lib.so: no such file or directory"},
		{"record --library / -- true", "--library /: is no file; name a library or program"},
		{"open --timeout soon x.txt", `--timeout "soon" is no time; write it as 30s or 5m`},
		{"open --timeout 0 x.txt", `--timeout "0" is no time; write it as 30s or 5m`},
		{"open --timeout 3 /nowhere/x.txt", "/nowhere/x.txt: no such file or directory"},
	} {
		r := gpurec(t, strings.Fields(c.args)...)
		if r.code == 0 || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || strings.Contains(c.want, "flag") && r.code != 2 {
			t.Errorf("%s: status %d: %s, want %s", c.args, r.code, r.stderr, c.want)
		}
	}
}
