package importer

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// zipped makes an archive of one member by a method, with flags set.
func zipped(t *testing.T, method, flags uint16, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	w, err := z.CreateHeader(&zip.FileHeader{Name: "a", Method: method, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, body); err != nil || z.Close() != nil {
		t.Fatal("zip")
	}
	return b.Bytes()
}

func TestUnpacking(t *testing.T) {
	line := []byte(strings.Repeat("a line\n", 1000))
	for _, c := range []struct {
		name    string
		in      []byte
		content string
		message string
	}{
		{"two members.gz", append(gz(t, []byte("a\n")), gz(t, []byte("b\n"))...), "a\nb\n", ""},
		{"two frames.zst", append(zs(t, []byte("a\n")), zs(t, []byte("b\n"))...), "a\nb\n", ""},
		{"gz in tar.tar.gz", gz(t, tarOf(t, "a")), "content of a", ""},
		{"zip by zstd.zip", zipped(t, zstd.ZipMethodWinZip, 0, "inner"), "inner", ""},
		{"encrypted.zip", zipped(t, zip.Deflate, 1, "inner"), "", "member a is encrypted"},
		{"of a Mac.zip", zipOf(t, "a", "__MACOSX/._a"), "content of a", ""},
		{"cut.gz", gz(t, line)[:40], string(line[:0]), "gzip data ends early"},
		{"more.gz", append(gz(t, []byte("a\n")), "more than ten bytes"...), "a\n", "gzip data is followed by something else"},
		{"little more.gz", append(gz(t, []byte("a\n")), 'x'), "a\n", "gzip data is followed by something else"},
		{"padded.gz", append(gz(t, []byte("a\n")), make([]byte, 10240)...), "a\n", ""},
		{"one zero.gz", append(append(gz(t, []byte("a\n")), gz(t, []byte("b\n"))...), 0), "a\nb\n", ""},
		{"padded between.gz", append(append(gz(t, []byte("a\n")), 0, 0), gz(t, []byte("b\n"))...), "a\n", "gzip data is followed by something else"},
		{"empty member.gz", append(gz(t, nil), gz(t, []byte("b\n"))...), "b\n", ""},
		{"noise.gz", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff"), "", "gzip data cannot be read"},
		{"no gz.gz", []byte("\x1f\x8bno"), "", "gzip data"},
		{"no zstd.zst", []byte("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff"), "", "zstd data"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, c.in, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readMember(path, "")
		if c.name == "cut.gz" {
			if !strings.HasPrefix(string(line), got) {
				t.Errorf("%s: %q", c.name, got)
			}
			got = ""
		}
		if got != c.content || (err == nil) != (c.message == "") {
			t.Errorf("%s: %q, error %v", c.name, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.message)
		}
	}
}

// What is read is counted as it lies in the file.
func TestProgressCountsTheFile(t *testing.T) {
	plain := []byte(strings.Repeat("a line of a trace\n", 100_000))
	dir := t.TempDir()
	for name, b := range map[string][]byte{"plain": plain, "a.gz": gz(t, plain), "a.zst": zs(t, plain), "a.zip": zipWith(t, "a", plain)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStream(path)
		if err != nil {
			t.Fatal(err)
		}
		before, size := s.Progress()
		n, err := io.Copy(io.Discard, s.R)
		after, _ := s.Progress()
		if err != nil || n != int64(len(plain)) || size != int64(len(b)) {
			t.Errorf("%s: %d bytes of %d, %v", name, n, size, err)
		}
		// A zip's directory is read too, some of it twice.
		if after < size || after > size+16<<10 || before > after || name != "a.zip" && after != size {
			t.Errorf("%s: %d, then %d of %d bytes read", name, before, after, size)
		}
		if in := (Input{At: s.At}); (in.File() != nil) != (name == "plain") {
			t.Errorf("%s: file %v", name, in.File())
		}
		if read, size := s.Progress(); name == "plain" && (read != 0 || size != 0) {
			t.Errorf("%d of %d read, though another reads the file", read, size)
		}
		s.Close()
	}
	s, err := NewStream("pipe", bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, s.R); err != nil {
		t.Fatal(err)
	}
	if read, size := s.Progress(); read != int64(len(plain)) || size != 0 {
		t.Errorf("a pipe: %d of %d", read, size)
	}
}

// A file that may not be read is named, with what to do.
func TestNoPermission(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte("# tracer: nop\n"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		// Files are asked for as another user, by this thread alone, which ends with the test.
		runtime.LockOSThread()
		for _, id := range []uintptr{65534, ^uintptr(0)} {
			if was, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, id, 0, 0); id == ^uintptr(0) && was != 65534 {
				t.Fatal("the kernel did not take another user")
			}
		}
		defer unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
	}
	_, err := OpenStream(path)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, os.ErrPermission) || e.Remedy != "check its owner and mode" {
		t.Errorf("%v", err)
	}
}

// FuzzOpen looks for what makes taking layers off fail in another way than by
// an error of one line, or go on for ever.
func FuzzOpen(f *testing.F) {
	t := &testing.T{}
	for _, b := range [][]byte{
		gz(t, []byte("a\n")), zs(t, []byte("a\n")), zipOf(t, "a"), tarOf(t, "a", "b"), gz(t, zs(t, tarOf(t, "a"))),
		zipped(t, zip.Deflate, 1, "a"), []byte("PERFILE2"), {0x1f, 0x8b}, {0x28, 0xb5, 0x2f, 0xfd, 0, 0},
	} {
		f.Add(b)
	}
	path := filepath.Join(f.TempDir(), "in")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStream(path)
		if err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(s.R, 1<<20))
			s.Close()
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}
