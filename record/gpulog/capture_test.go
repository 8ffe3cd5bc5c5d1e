package gpulog

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

var captures = []string{"6.1.0-57-amd64", "6.12.117+deb12-amd64"}

// shared returns a folder of the data beside the checkout, or skips.
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

// capture is a recording of a lab kernel: the pages of its ring buffers, in
// the order in which a recorder would drain them, and their events.
type capture struct {
	pages   [][]byte
	cpus    []int32 // of each page
	decoder *ftrace.Decoder
	events  []event.Event
	bytes   int // in pages
}

func readCapture(t testing.TB, kernel string) *capture {
	t.Helper()
	dir := shared(t, "captures", kernel, "raw")
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	layout, err := ftrace.ParseLayout(read("header_page"), read("header_event"), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "events", "*.format"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no formats in %s: %v", dir, err)
	}
	var formats []*ftrace.Format
	for _, f := range files {
		system, _, _ := strings.Cut(filepath.Base(f), ".")
		p, err := ftrace.ParseFormat(system, read(filepath.Join("events", filepath.Base(f))))
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, p)
	}
	c := new(capture)
	if c.decoder, err = ftrace.NewDecoder(layout, formats, ftrace.DecoderOptions{}); err != nil {
		t.Fatal(err)
	}
	c.decoder.SavedTGIDs(read("saved_tgids"))
	c.decoder.SavedCmdlines(read("saved_cmdlines"))
	size := layout.SubBufferSize()
	raw := [][]byte{read("cpu0.raw"), read("cpu1.raw")}
	for off := 0; off < max(len(raw[0]), len(raw[1])); off += size {
		for cpu, r := range raw {
			if off+size <= len(r) {
				c.pages = append(c.pages, r[off:off+size])
				c.cpus = append(c.cpus, int32(cpu))
				c.bytes += size
			}
		}
	}
	c.events = c.decode()
	return c
}

// decode returns the events of all pages.
func (c *capture) decode() []event.Event {
	var b event.Batch
	for i, p := range c.pages {
		c.decoder.Page(c.cpus[i], p, &b)
	}
	return b.Events
}

func TestRoundTripCaptures(t *testing.T) {
	for _, k := range captures {
		t.Run(k, func(t *testing.T) {
			c := readCapture(t, k)
			if len(c.events) < 8000 {
				t.Fatalf("only %d events", len(c.events))
			}
			log := write(t, c.events, WriterOptions{})
			got, r := readAll(t, log)
			compare(t, got, c.events)
			perEvent := float64(r.Stats().EventBytes) / float64(len(c.events))
			t.Logf("%d events, %.2f bytes each (%.2f before compression), log %d bytes",
				len(c.events), perEvent, float64(r.Stats().EventRaw)/float64(len(c.events)), len(log))
			if perEvent > 5 {
				t.Errorf("%.2f bytes an event, want 5 at most", perEvent)
			}
		})
	}
}
