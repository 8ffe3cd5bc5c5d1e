package importer

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gz(t *testing.T, b []byte) []byte {
	t.Helper()
	var w bytes.Buffer
	z := gzip.NewWriter(&w)
	if _, err := z.Write(b); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	return w.Bytes()
}

func zs(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

func TestStreamTakesCompressionOff(t *testing.T) {
	plain := []byte(strings.Repeat("a line of a trace\n", 10000))
	for name, in := range map[string][]byte{
		"plain": plain, "gzip": gz(t, plain), "zstd": zs(t, plain), "zstd in gzip": gz(t, zs(t, plain)),
	} {
		s, err := NewStream(name, bytes.NewReader(in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.HasPrefix(plain, s.Head) || len(s.Head) != SniffLen {
			t.Errorf("%s: head is %d bytes", name, len(s.Head))
		}
		got, err := io.ReadAll(s.R)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: read %d bytes, %v", name, len(got), err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

// A cut member gives what is whole, then an error: never a silent end.
func TestCutCompression(t *testing.T) {
	plain := []byte(strings.Repeat("0123456789abcdef", 1<<14))
	in := gz(t, plain)
	s, err := NewStream("cut.gz", bytes.NewReader(in[:len(in)/2]))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s.R)
	if err == nil || !bytes.HasPrefix(plain, got) {
		t.Errorf("read %d bytes, error %v", len(got), err)
	}
}

func TestBadInputsAreOneLine(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	perf := filepath.Join(dir, "perf.data")
	if err := os.WriteFile(perf, []byte("PERFILE2xxxxxxxx"), 0o644); err != nil {
		t.Fatal(err)
	}
	perfBig := filepath.Join(dir, "perf-big.data") // perf writes its magic as a number
	if err := os.WriteFile(perfBig, []byte("2ELIFREPxxxxxxxx"), 0o644); err != nil {
		t.Fatal(err)
	}
	deep := []byte("x")
	for range maxLayers + 1 {
		deep = gz(t, deep)
	}
	bomb := filepath.Join(dir, "bomb.gz")
	if err := os.WriteFile(bomb, deep, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a directory",
		empty:                      "is empty",
		perf:                       "perf script",
		perfBig:                    "perf script",
		bomb:                       "compressed more than",
	} {
		err := open(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", filepath.Base(path), err, want)
		}
	}
}

func open(path string) error {
	s, err := OpenStream(path)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = Detect(s, []Format{{Name: "never", Sniff: func([]byte) bool { return false }}}, "")
	return err
}

func TestDetect(t *testing.T) {
	formats := []Format{
		{Name: "a", Sniff: func(h []byte) bool { return h[0] == 'a' }},
		{Name: "b", Sniff: func(h []byte) bool { return h[0] == 'b' }},
	}
	s, err := NewStream("in", strings.NewReader("b…"))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := Detect(s, formats, ""); err != nil || f.Name != "b" {
		t.Errorf("detected %v, %v", f, err)
	}
	if f, err := Detect(s, formats, "a"); err != nil || f.Name != "a" {
		t.Errorf("named %v, %v", f, err)
	}
	if _, err := Detect(s, formats, "c"); !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), "known are a, b") {
		t.Errorf("unknown name: %v", err)
	}
}

// What stands in something that is read is told as such, with what to do.
func TestDetectWithin(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\xfd7zXZ\x00…", "in: byte 0: is compressed by xz, which is not read; unpack it: xz -dk FILE"},
		{string(gz(t, []byte("\xfd7zXZ\x00…"))), "in: holds a file that is compressed by xz, which is not read; take it out, then unpack it: xz -dk FILE"},
		{string(gz(t, []byte("BZh9…"))), "in: holds a file that is compressed by bzip2, which is not read; take it out, then unpack it: bzip2 -dk FILE"},
	} {
		s, err := NewStream("in", strings.NewReader(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Detect(s, nil, ""); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.in, err, c.want)
		}
	}
	// A zip archive needs a plain file of its own.
	if _, err := NewStream("in", bytes.NewReader(gz(t, zipOf(t, "a")))); err == nil || !strings.HasSuffix(err.Error(), "save it as a file, or unpack it first") {
		t.Errorf("%v", err)
	}
}

// archives with the given members, which hold their own names.
func zipOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		w, err := z.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(n, "/") {
			continue
		}
		if _, err := io.WriteString(w, "content of "+n); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o755}); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		body := "content of " + n
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: n, Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchives(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      []byte
		member  string
		content string // "" if it fails
		message string
	}{
		{"one.zip", zipOf(t, "d/", "d/a"), "", "content of d/a", ""},
		{"named.zip", zipOf(t, "a", "b"), "b", "content of b", ""},
		{"two.zip", zipOf(t, "a", "b"), "", "", "--member: a, b"},
		{"other.zip", zipOf(t, "a"), "c", "", "no such member"},
		{"none.zip", zipOf(t), "", "", "holds no file"},
		{"one.tar", tarOf(t, "a"), "", "content of a", ""},
		{"one.tar.gz", gz(t, tarOf(t, "a")), "", "content of a", ""},
		{"named.tar", tarOf(t, "a", "b", "c"), "b", "content of b", ""},
		{"two.tar", tarOf(t, "a", "b"), "", "content of a", "a was read, b and what follows was not"},
		{"other.tar", tarOf(t, "a"), "c", "", "no such member"},
		{"none.tar", tarOf(t), "", "", "holds no file"},
		{"plain", []byte("a trace"), "a", "", "no archive"},
		{"zip.gz", gz(t, zipOf(t, "a")), "", "", "in a pipe or in another archive"},
		{"cut.zip", zipOf(t, "a")[:40], "", "", "damaged"},
		{"gz-in.zip", zipWith(t, "a.gz", gz(t, []byte("inner"))), "", "inner", ""},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, c.in, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readMember(path, c.member)
		if got != c.content || (err == nil) != (c.message == "") {
			t.Errorf("%s: %q, error %v", c.name, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.message)
		}
	}
}

func zipWith(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil || z.Close() != nil {
		t.Fatal("zip")
	}
	return b.Bytes()
}

func readMember(path, member string) (string, error) {
	s, err := OpenMember(path, member)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.At != nil {
		return "", errors.New("random access into an archive")
	}
	b, err := io.ReadAll(s.R)
	return string(b), err
}

// The head of a tar comes through a pipe as well.
func TestTarThroughAPipe(t *testing.T) {
	s, err := NewStream("pipe", bytes.NewReader(tarOf(t, "a")))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(s.R); err != nil || string(b) != "content of a" {
		t.Errorf("%q, %v", b, err)
	}
}
