package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal ends a command that waits for a pipe: with one line, the status
// that a shell expects, and nothing left where the output would have been.
func TestSignalsEndWaiting(t *testing.T) {
	for _, c := range []struct {
		sig  syscall.Signal
		feed string // what the pipe gives before it falls silent
		args []string
	}{
		{syscall.SIGINT, "", []string{"info", "IN"}},
		{syscall.SIGTERM, "", []string{"export", "IN", "-o", "OUT.pftrace"}},
		{syscall.SIGINT, smallTrace, []string{"export", "IN", "-o", "OUT.pftrace"}},
		{syscall.SIGHUP, smallTrace, []string{"export", "IN", "-o", "OUT/"}},
		{syscall.SIGINT, smallTrace, []string{"import", "IN", "-o", "OUT.gpurec"}},
		{syscall.SIGINT, smallTrace, []string{"report", "-"}},
	} {
		if signal.Ignored(c.sig) {
			t.Logf("%v with %v: not run, the signal is ignored here (nohup)", c.args, c.sig)
			continue
		}
		dir, out := t.TempDir(), t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, a := range c.args {
			a = strings.Replace(a, "IN", pipe, 1)
			args = append(args, strings.Replace(a, "OUT", filepath.Join(out, "x"), 1))
		}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), mainEnv+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		cmd.Stdin = nil
		if args[len(args)-1] == "-" {
			// Opened for both, so that it can be opened without the other end.
			r, err := os.OpenFile(pipe, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = r
			defer r.Close()
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the reader is there
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(strings.Repeat(c.feed, 1+(64<<10)/len(smallTrace))); err != nil {
			t.Fatal(err)
		}
		if cmd.Stdin != nil {
			for n := 1; n > 0; { // until it has been read, so that the handler is there
				n = unread(t, w)
			}
		}
		if err := cmd.Process.Signal(c.sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("%v with %v: %v, want an exit status", c.args, c.sig, err)
		}
		w.Close()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(c.sig) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v with %v: status %d, %q", c.args, c.sig, code, stderr.String())
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("%v: left %v, %v", c.args, left, err)
		}
	}
}

// unread returns how many bytes a pipe holds.
func unread(t *testing.T, f *os.File) (n int) {
	t.Helper()
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ) // FIONREAD
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOutputThatIsTheInput(t *testing.T) {
	trace := writeFile(t, "trace.txt", smallTrace)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{trace, link} {
		for _, args := range [][]string{{"import", trace, "-o", out}, {"convert", "--format", "perfetto", trace, out}} {
			if r := gpurec(t, args...); r.code != exitUsage || !strings.Contains(r.stderr, "is the input") {
				t.Errorf("%v: status %d, %s", args, r.code, r.stderr)
			}
		}
	}
	if b, err := os.ReadFile(trace); err != nil || string(b) != smallTrace {
		t.Errorf("the trace is gone: %v", err)
	}
}

// A log that tells what its import could not read is itself whole.
func TestImportOfDamageIsSound(t *testing.T) {
	long := writeFile(t, "trace.txt", smallTrace+strings.Repeat("x", 100<<10)+"\n")
	log := filepath.Join(t.TempDir(), "x.gpurec")
	if r := gpurec(t, "import", long, "-o", log); r.code != exitPartial {
		t.Fatalf("status %d, %s", r.code, r.stderr)
	}
	for _, verb := range []string{"info", "report", "correlate"} {
		if r := gpurec(t, verb, log); r.code != 0 || r.stderr != "" {
			t.Errorf("%s: status %d, %s", verb, r.code, r.stderr)
		}
	}
	if out := must(t, "info", log); !strings.Contains(out, "ftrace_text_long_line") {
		t.Errorf("the damage is forgotten: %s", out)
	}
}

func TestErrorsAreOneLineWhateverTheName(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[31mb", "a\rb", "\xff"} {
		if r := gpurec(t, "info", filepath.Join(t.TempDir(), name)); r.code != exitFailed ||
			strings.Count(r.stderr, "\n") != 1 || strings.ContainsAny(r.stderr, "\x1b\r") {
			t.Errorf("%q: status %d, %q", name, r.code, r.stderr)
		}
	}
}
