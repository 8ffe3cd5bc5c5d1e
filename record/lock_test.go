package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a recorder writes keeps its name, and so does the log before it.
func TestOutputInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.gpurec")
	write(t, path, "the log before")
	f, err := createOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("first"); err != nil {
		t.Fatal(err)
	}
	if !Recording(path) {
		t.Error("a log that is written passes for a finished one")
	}
	for range 2 {
		if _, err := createOutput(path); !errors.Is(err, errInUse) || !strings.HasPrefix(err.Error(), "create "+path+": another gpurec record") {
			t.Errorf("a second recorder: %v", err)
		}
	}
	for name, want := range map[string]string{path: "first", path + ".old": "the log before"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if Recording(path) {
		t.Error("its recorder has ended")
	}
	mustCreate(t, path)
	if b, err := os.ReadFile(path + ".old"); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	// The old log's name may itself be one that is written.
	old, err := createOutput(path + ".old")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := createOutput(path); !errors.Is(err, errInUse) {
		t.Errorf("%v", err)
	}
}

// Of two recorders that begin at once the one whose file has the name goes on.
func TestHoldTheName(t *testing.T) {
	dir := t.TempDir()
	d, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(d)
	path := filepath.Join(dir, "a")
	first, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	second, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := hold(first, d, "a"); !errors.Is(err, errInUse) {
		t.Errorf("the first has lost its name: %v", err)
	}
	if err := hold(second, d, "a"); err != nil {
		t.Error(err)
	}
}

// /dev/fd/N is a shell's >(command); this program's own files are not meant.
func TestInheritedOutput(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil { // not closed on exec, as what a shell leaves open
		t.Fatal(err)
	}
	r := os.NewFile(uintptr(fds[0]), "pipe")
	defer r.Close()
	for _, form := range []string{"/dev/fd/%d", "/proc/self/fd/%d"} {
		var ue *UsageError
		if f, err := inherited(fmt.Sprintf(form, fds[0])); f != nil || !errors.As(err, &ue) {
			t.Errorf("the reading end: %v, %v", f, err)
		}
	}
	own, err := os.Create(filepath.Join(t.TempDir(), "own"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if f, err := inherited(fmt.Sprintf("/dev/fd/%d", own.Fd())); f != nil || err == nil {
		t.Errorf("a file of this program's own: %v, %v", f, err)
	}
	for _, path := range []string{"run.gpurec", "/dev/null", "/dev/fd/", "/dev/fd/x", "/proc/self/fd/-1", ""} {
		if f, err := inherited(path); f != nil || err != nil {
			t.Errorf("%q: %v, %v", path, f, err)
		}
	}
	out, err := openOutput(&Options{Output: fmt.Sprintf("/dev/fd/%d", fds[1])})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("log")); err != nil {
		t.Fatal(err)
	}
	if err := out.f.Close(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if n, err := r.Read(b); err != nil || string(b[:n]) != "log" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
