package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
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
		{"record --ring 1 -- true", "a BPF ring of 1 B is too small: give at least 64.0 KiB, as in --ring 16M"},
		{"record --ftrace-buffer 1 -- true", "an ftrace buffer of 1.0 KiB for each CPU is too small: give at least 16.0 KiB"},
		{"record --output= -- true", "the name of the log is empty: name a file with -o, or leave it out for run.gpurec"},
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

// Values of flags are refused whatever the input; a flag that a log has no use
// for is told.
func TestFlagsOfInputs(t *testing.T) {
	log := writeLogFile(t, "run.gpurec", &event.Meta{Tool: "gpurec", Format: "live", Clock: event.ClockBoottime}, nil)
	text := writeFile(t, "t.txt", smallTrace)
	for _, in := range []string{log, text} {
		for _, verb := range []string{"report", "info", "correlate"} {
			for flag, want := range map[string]string{"--clock": `--clock "foo" is no clock`, "--from": `--from "foo" is not known`} {
				if r := gpurec(t, verb, flag, "foo", in); r.code != exitUsage || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
					t.Errorf("%s %s of %s: status %d: %s", verb, flag, in, r.code, r.stderr)
				}
			}
		}
	}
	if r := gpurec(t, "info", "--clock", "mono", log); r.code != 0 || r.stderr != log+": a log says itself what its clock is (boottime): --clock mono is not used\n" {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
	if r := gpurec(t, "info", "--clock", "mono", text); r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "monotonic") {
		t.Errorf("status %d: %s", r.code, r.stderr)
	}
}
