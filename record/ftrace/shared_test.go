package ftrace

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared returns the folder of shared data beside the checkout, or skips.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no go.mod above the test: cannot find the shared data")
		}
		dir = up
	}
	p := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("shared data is absent: %v", err)
	}
	return p
}

// capture is a recording of raw pages with its formats.
type capture struct {
	layout  Layout
	formats []*Format
	cpus    [][]byte // the pages of each CPU, one after the other
	cmd     []byte
	tgid    []byte
}

func readCapture(t testing.TB, dir string) capture {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, "raw", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var c capture
	var err error
	c.layout, err = ParseLayout(read("header_page"), read("header_event"), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "raw", "events", "*.format"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no formats in %s: %v", dir, err)
	}
	for _, f := range files {
		system, _, _ := strings.Cut(filepath.Base(f), ".")
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseFormat(system, b)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		c.formats = append(c.formats, p)
	}
	c.cpus = [][]byte{read("cpu0.raw"), read("cpu1.raw")}
	c.cmd, c.tgid = read("saved_cmdlines"), read("saved_tgids")
	return c
}

func (c *capture) decoder(t testing.TB) *Decoder {
	t.Helper()
	d, err := NewDecoder(c.layout, c.formats, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.SavedTGIDs(c.tgid)
	d.SavedCmdlines(c.cmd)
	return d
}
