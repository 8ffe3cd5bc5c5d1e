package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func write(t *testing.T, f *File, s string) {
	t.Helper()
	if _, err := f.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestFileAppearsWhole(t *testing.T) {
	for _, without := range []bool{true, false} {
		dir := t.TempDir()
		path := filepath.Join(dir, strings.Repeat("n", 255)) // the longest name there is
		f, err := Create(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !without { // a file system without nameless files
			f.f.Close()
			f.temp = Beside(path, "tmp", 1)
			if f.f, err = os.Create(f.temp); err != nil {
				t.Fatal(err)
			}
		}
		write(t, f, "half")
		if got := names(t, dir); strings.Contains(got, " ") || got != "" && !strings.HasPrefix(got, ".") {
			t.Errorf("before Commit: %q", got)
		}
		write(t, f, " whole")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		f.Abort() // after Commit: nothing
		if b, err := os.ReadFile(path); string(b) != "half whole" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if got := names(t, dir); got != filepath.Base(path) {
			t.Errorf("after Commit: %q", got)
		}
		if f, err = Create(path, Options{}); err != nil {
			t.Fatal(err)
		}
		write(t, f, "other")
		f.Abort()
		if b, _ := os.ReadFile(path); string(b) != "half whole" || names(t, dir) != filepath.Base(path) {
			t.Errorf("after Abort: %q in %q", b, names(t, dir))
		}
	}
}

func TestFileKeepsLinksAndModes(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	links := [][2]string{{"old", "first"}, {"sub/../first", "second"}, {"new", "dangling"}}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if err := os.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			t.Fatal(err)
		}
	}
	for link, final := range map[string]string{"second": "old", "dangling": "new"} {
		f, err := Create(filepath.Join(dir, link), Options{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, f, link)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, final)); string(b) != link {
			t.Errorf("%s holds %q", final, b)
		}
	}
	if st, err := os.Stat(old); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if got := names(t, dir); got != "dangling first new old second sub" {
		t.Errorf("left: %s", got)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo, loop := filepath.Join(dir, "fifo"), filepath.Join(dir, "loop")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "is a directory", fifo: "device, pipe or socket", "/dev/null": "device, pipe or socket",
		filepath.Join(dir, "no", "x"): "no such directory; make ", loop: "symbolic links",
	} {
		f, err := Create(path, Options{})
		if err == nil {
			f.Abort()
			t.Errorf("%s: taken", path)
			continue
		}
		if s := err.Error(); !strings.Contains(s, want) || !strings.HasPrefix(s, "write "+path+": ") || strings.Contains(s, "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("links of others need root to make")
	}
	other := filepath.Join(dir, "other")
	if err := os.Symlink("target", other); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(other, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, Options{}); err == nil || !strings.Contains(err.Error(), "user 12345") {
		t.Errorf("link of another user: %v", err)
	}
}

func TestFileInterrupted(t *testing.T) {
	stop := errors.New("stop")
	var now error
	f, err := Create(filepath.Join(t.TempDir(), "f"), Options{Interrupted: func() error { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	write(t, f, "x")
	now = stop
	if _, err := f.Write([]byte("y")); !errors.Is(err, stop) {
		t.Errorf("write after the interrupt: %v", err)
	}
}

func TestPlainError(t *testing.T) {
	full := &os.PathError{Op: "write", Path: ".x.tmp", Err: syscall.ENOSPC}
	if got := PlainError(full).Error(); !strings.HasPrefix(got, "no space left on device: ") || strings.Contains(got, ".x") {
		t.Error(got)
	}
	if err := PlainError(PlainError(full)); !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "make room") != 1 {
		t.Error(err)
	}
	if PlainError(nil) != nil {
		t.Error("an error of none")
	}
}

// What Abort cannot remove is named, behind the error that led there.
func TestAbortTellsWhatStays(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "x"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A name that cannot be removed: a directory that is not empty.
	f.temp = filepath.Join(dir, ".x.tmp-1")
	if err := os.MkdirAll(filepath.Join(f.temp, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the input is cut")
	err = Undone(cause, f.Abort())
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), f.temp+" stays behind") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if err := f.Abort(); err != nil {
		t.Errorf("the second Abort: %v", err)
	}
	if err := Undone(nil, nil); err != nil {
		t.Errorf("nothing went wrong: %v", err)
	}
}
