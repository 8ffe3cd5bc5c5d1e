package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/importtest"
)

// dat is the recording of a case.
func dat(t testing.TB, name string) *importtest.Dat {
	t.Helper()
	text, err := os.ReadFile(importtest.Testdata(t, "tracedat", name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("-- trace --\n"))
	trace, _, _ := bytes.Cut(rest, []byte("-- want --\n"))
	return importtest.ParseDat(t, string(trace))
}

var smallMachine = importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 256}

// A file cut at any byte gives what is whole and says that it is cut.
func TestCutAnywhere(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, f := range []form{{6, "", smallMachine}, {7, "none", smallMachine}, {7, "zlib", smallMachine}, {7, "zstd", smallMachine}} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			importtest.Cuts(t, Format(), dat(t, "merged.txt").File(f.version, f.machine, f.zip), step)
		})
	}
}

// A file of version 7 that was cut before the options that name its CPUs: the
// pages are found all the same.
func TestCutBeforeTheTableOfCPUs(t *testing.T) {
	for _, zip := range []string{"none", "zstd"} {
		file := dat(t, "merged.txt").File(7, smallMachine, zip)
		// The last section of options is the second of its kind; its option BUFFER
		// ends with the size of CPU 1, and the option DONE, and the strings.
		cut := bytes.LastIndex(file, []byte("mono\x00"))
		r, err := importtest.OpenBytes(Format(), file[:cut], false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := importtest.Read(r)
		var e *importer.Error
		if !errors.As(err, &e) || !strings.Contains(e.Remedy, "cut") {
			t.Errorf("%s: error %v", zip, err)
		}
		if len(got) != 5 || r.Counters().Get(&AnomalyCPUUnknown) == 0 {
			t.Errorf("%s: %d events of 5, anomalies %v", zip, len(got), r.Counters().List())
		}
		for i := range got {
			if got[i].CPU != event.NoID {
				t.Errorf("%s: event %d claims CPU %d", zip, i, got[i].CPU)
			}
		}
		if r.Meta().Clock != event.ClockMonotonic || r.Meta().Host.Name != "box" {
			t.Errorf("%s: the first options are whole: clock %s, host %s", zip, r.Meta().Clock, r.Meta().Host.Name)
		}
	}
}

// The same where the section of the instance is not even finished, behind a top
// buffer without pages.
func TestCutInAnInstance(t *testing.T) {
	for _, zip := range []string{"none", "zstd"} {
		file := dat(t, "instances.txt").File(7, smallMachine, zip)
		// The pages of the last instance, "second": its section's head is the last one
		// of number 3; cut in its last page, and take its size off.
		head := bytes.LastIndex(file, append([]byte{3, 0}, map[string]byte{"none": 0, "zstd": 1}[zip], 0, 0, 0, 0, 0))
		cut := bytes.Clone(file[:bytes.LastIndex(file, []byte("second\x00local\x00"))-14])
		copy(cut[head+8:], make([]byte, 8))
		r, err := importtest.OpenBytes(Format(), cut, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := importtest.Read(r)
		if err == nil || len(got) != 4 {
			t.Errorf("%s: %d events of 4, %v, %v", zip, len(got), err, r.Counters().List())
		}
	}
}

// A damaged chunk costs its own events and no others.
func TestDamagedChunk(t *testing.T) {
	file := dat(t, "merged.txt").File(7, smallMachine, "zlib")
	// CPU 1's first chunk: the pages of CPU 0 are one chunk, aligned.
	at := bytes.LastIndex(file, []byte{2, 0, 0, 0}) // two chunks
	for i := 0; i+4 < len(file); i += smallMachine.Page {
		if binary.LittleEndian.Uint32(file[i:]) == 2 {
			at = i
		}
	}
	file[at+20] ^= 0xff
	r, err := importtest.OpenBytes(Format(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := importtest.Read(r)
	if err != nil || len(got) != 3 || r.Counters().Get(&AnomalyBadChunk) != 1 {
		t.Fatalf("%d events of 3, %v, %v", len(got), err, r.Counters().List())
	}
	if got[2].Time != 4294968316 {
		t.Errorf("the last event is at %d", got[2].Time)
	}
}

// What cannot be read is named in one line with a remedy.
func TestRefused(t *testing.T) {
	d := dat(t, "merged.txt")
	v6, v7 := d.File(6, smallMachine, ""), d.File(7, smallMachine, "zstd")
	change := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	latency := bytes.Replace(v6, []byte("flyrecord\x00"), []byte("latency  \x00"), 1)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"magic only":       {v6[:10], "initial format"},
		"version 8":        {change(v7, 10, '8'), `version "8"`},
		"long of 5 bytes":  {change(v6, 13, 5), "long of 5 bytes"},
		"page of 0 bytes":  {change(v6, 14, 0, 0, 0, 0), "page of 0 bytes"},
		"unknown codec":    {bytes.Replace(v7, []byte("zstd\x00"), []byte("lzxx\x00"), 1), `compressed with "lzxx"`},
		"latency tracer":   {latency, "latency tracer"},
		"no header_page":   {bytes.Replace(v6, []byte("header_page\x00"), []byte("header_pagX\x00"), 1), "header_page should be"},
		"huge header_page": {change(v6, 18+12, 0xff, 0xff, 0xff, 0xff, 0xff), "beyond all bounds"},
	} {
		r, err := importtest.OpenBytes(Format(), c.file, false)
		if err == nil {
			_, err = importtest.Read(r)
		}
		var e *importer.Error
		if !errors.As(err, &e) || e.Remedy == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q and a remedy", name, err, c.want)
		}
	}
}

// Lengths that lie allocate nothing: the memory of reading is bounded by what is there.
func TestLyingLengths(t *testing.T) {
	file := dat(t, "merged.txt").File(7, smallMachine, "zstd")
	for i := 0; i+8 <= len(file); i += 4 {
		for _, v := range []uint32{1<<31 - 1, 1<<32 - 1, 0} {
			b := bytes.Clone(file)
			binary.LittleEndian.PutUint32(b[i:], v)
			r, err := importtest.OpenBytes(Format(), b, false)
			if err != nil {
				continue // refused: fine
			}
			if got, _ := importtest.Read(r); len(got) > 64 {
				t.Fatalf("word at %d set to %#x: %d events", i, v, len(got))
			}
			r.Close()
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"merged.txt", "instances.txt", "prints.txt"} {
		d := dat(f, name)
		f.Add(d.File(6, smallMachine, ""))
		f.Add(d.File(7, smallMachine, "none"))
		f.Add(d.File(7, smallMachine, "zlib"))
		f.Add(d.File(7, importtest.Machine{Order: binary.BigEndian, Long: 4, Page: 256}, "zstd"))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := importtest.OpenBytes(Format(), file, false)
		if err != nil {
			return
		}
		defer r.Close()
		var b event.Batch
		for n := 0; n < 100; n++ { // a small file can name the same pages many times
			if r.Next(&b) != nil {
				return
			}
		}
	})
}
