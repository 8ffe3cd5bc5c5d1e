package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpurec/gpurec/record/importer/importtest"
)

// hostileMemory is what any input may make the program take, in MiB.
const hostileMemory = 256

// peakEnv names a file to which the program writes the most memory that it
// held, in KiB. The kernel's account of a child counts its parent's too.
const peakEnv = "GPUREC_TEST_PEAK"

func writePeak(path string) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	if err := os.WriteFile(path, []byte(strings.Fields(rest)[0]), 0o644); err != nil {
		panic(err)
	}
}

// survives imports an input and checks what holds of any: an exit status of
// the documented ones, one line if it is not 0, which names the input, bounded
// memory, and an output exactly if something could be read.
func survives(t *testing.T, input string, stdin io.Reader, codes ...int) string {
	t.Helper()
	dir := t.TempDir()
	out, peak := filepath.Join(dir, "x.gpurec"), filepath.Join(dir, "peak")
	c := exec.Command(os.Args[0], "import", input, "-o", out, "--quiet")
	c.Env = append(os.Environ(), mainEnv+"=1", peakEnv+"="+peak)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = stdin, &stderr
	var ee *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &ee) && c.ProcessState == nil {
		t.Fatal(err)
	} // else its status is looked at; what copies to its input may fail when it ends
	code, line := c.ProcessState.ExitCode(), stderr.String()
	if !slices.Contains(codes, code) {
		t.Errorf("status %d, not one of %v: %q", code, codes, line)
	}
	name := oneLine(filepath.Base(input))
	if input == "-" {
		name = "standard input"
	}
	if code == 0 && line != "" || code != 0 && (strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "gpurec: ") || !strings.Contains(line, name)) {
		t.Errorf("status %d with %q", code, line)
	}
	if _, err := os.Stat(out); (err == nil) != (code == 0 || code == exitPartial) {
		t.Errorf("status %d, output: %v", code, err)
	}
	b, err := os.ReadFile(peak)
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if kib > hostileMemory<<10 {
		t.Errorf("took %d MiB: %q", kib>>10, line)
	}
	return line
}

// samples is a small sound file of each format.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	read := func(elem ...string) string {
		b, err := os.ReadFile(importtest.Testdata(t, elem...))
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(string(b), "-- want\n")
		return before
	}
	dir := t.TempDir()
	db := func(script string) []byte {
		path := filepath.Join(dir, strconv.Itoa(len(script))+".sqlite")
		d, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Exec(script)
		b, rerr := os.ReadFile(path)
		if err := errors.Join(err, d.Close(), rerr); err != nil {
			t.Fatal(err)
		}
		return b
	}
	trace := writeFile(t, "trace.txt", smallTrace)
	own := func(name string) []byte {
		path := filepath.Join(dir, name)
		if name == "a.gpurec" {
			must(t, "import", trace, "-o", path)
		} else {
			must(t, "convert", trace, path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	dat := importtest.ParseDat(t, string(importtest.ReadCase(t, importtest.Testdata(t, "tracedat", "prints.txt")).Trace))
	m := importtest.Machine{Order: binary.LittleEndian, Long: 8, Page: 4096}
	return map[string][]byte{
		"gpurec":         own("a.gpurec"),
		"perfetto":       own("a.pftrace"),
		"chrome-json":    own("a.json"),
		"ftrace-text":    []byte(smallTrace),
		"trace-dat":      dat.File(6, m, ""),
		"trace-dat 7":    dat.File(7, m, "zstd"),
		"perf-script":    importtest.ReadCase(t, importtest.Testdata(t, "perfscript", "tracepoints.txt")).Trace,
		"nsys-sqlite":    db(read("nsys", "processes.sql")),
		"rpd":            db(read("rocm", "calls.sql")),
		"rocpd":          db(read("rocm", "rocpd.sql")),
		"rocprofv3-json": []byte(read("rocm", "rocprofv3.json.case")),
		"kineto":         importtest.ReadCase(t, importtest.Testdata(t, "chromejson", "kineto.txt")).Trace,
		"perfetto-text":  []byte("packet {\n  timestamp: 1\n  track_event { type: 1 name: \"a\" }\n}\n"),
	}
}

// hostileSize is that of sparse files and of what comes through pipes.
func hostileSize() int64 {
	if testing.Short() {
		return 32 << 20
	}
	return 2 << 30
}

// Every format, followed by what no trace has, cut, and packed so that it
// unpacks to far more than there is room for.
func TestHostileContents(t *testing.T) {
	all := samples(t)
	for _, f := range importers() {
		if f.SniffDir == nil && all[f.Name] == nil {
			t.Errorf("no sample of %s", f.Name)
		}
	}
	for name, whole := range all {
		t.Run(name, func(t *testing.T) {
			refused := name == "perfetto-text" // as such, in one line
			dir := t.TempDir()
			file := func(kind string, b []byte) string {
				p := filepath.Join(dir, kind)
				if err := os.WriteFile(p, b, 0o644); err != nil {
					t.Fatal(err)
				}
				return p
			}
			if refused {
				survives(t, file("whole", whole), nil, exitFailed)
			} else {
				survives(t, file("whole", whole), nil, 0, exitPartial)
			}
			survives(t, file("half", whole[:len(whole)/2]), nil, 0, exitFailed, exitPartial)
			survives(t, file("head", whole[:min(len(whole), 100)]), nil, 0, exitFailed, exitPartial)

			for _, n := range []int{16, len(whole)} {
				p := file("sparse", whole[:min(n, len(whole))])
				size := hostileSize()
				if n == 16 {
					size /= 8
				}
				if err := os.Truncate(p, size); err != nil {
					t.Fatal(err)
				}
				survives(t, p, nil, 0, exitFailed, exitPartial)
			}
			survives(t, "-", io.MultiReader(bytes.NewReader(whole), io.LimitReader(zeros{}, 32<<20)), 0, exitFailed, exitPartial)

			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			if _, err := w.Write(whole); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			if refused {
				survives(t, file("packed.gz", z.Bytes()), nil, exitFailed)
			} else {
				survives(t, file("packed.gz", z.Bytes()), nil, 0, exitPartial)
			}
			survives(t, file("cut.gz", z.Bytes()[:z.Len()*2/3]), nil, exitFailed, exitPartial)
			if !testing.Short() || name == "ftrace-text" {
				survives(t, file("bomb.zst", zstdBomb(whole, 0)), nil, 0, exitFailed, exitPartial)
				survives(t, file("blanks.zst", zstdBomb(whole, ' ')), nil, 0, exitFailed, exitPartial)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// zstdBomb is a frame of b and 256 GiB of a byte (RFC 8878, 3.1.1): raw blocks
// and blocks that repeat.
func zstdBomb(b []byte, fill byte) []byte {
	const window, block = 128 << 10, 2 << 20
	z := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3} // a window of 2^17
	head := func(kind, size int) {
		v := size<<3 | kind<<1
		z = append(z, byte(v), byte(v>>8), byte(v>>16))
	}
	for part := range slices.Chunk(b, window) {
		head(0, len(part))
		z = append(z, part...)
	}
	for range block {
		head(1, window)
		z = append(z, fill)
	}
	return z
}

// What is no file of a format, or no file.
func TestHostileInputs(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	says := func(path, want string, stdin io.Reader, codes ...int) {
		t.Helper()
		if line := survives(t, path, stdin, codes...); !strings.Contains(line, want) {
			t.Errorf("%s: %q lacks %q", path, line, want)
		}
	}
	says(file("empty", nil), "is empty", nil, exitFailed)
	says(filepath.Join(dir, "none"), "no such file", nil, exitFailed)
	says(dir, "is a directory", nil, exitFailed)
	says("/dev/null", "is empty", nil, exitFailed)
	says("/dev/zero", "no known trace format", nil, exitFailed)
	says(os.Args[0], "is a program", nil, exitFailed)
	says("-", "is empty", nil, exitFailed)
	says("-", "no known trace format", zeros{}, exitFailed)
	for _, c := range []string{"\xfd7zXZ\x00|xz -dk", "BZh9|bzip2 -dk", "\x04\x22\x4d\x18|lz4 -d", "PERFILE2|perf script"} {
		head, want, _ := strings.Cut(c, "|")
		says(file("packed", []byte(head+"0123456789")), want, nil, exitFailed)
	}
	says(file("a\x1b[31m\n\rb", []byte(smallTrace)), "", nil, 0)
	says(file("c\x1b[31m\n\rd", nil), "is empty", nil, exitFailed)

	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	says(filepath.Join(dir, "socket"), "is a socket", nil, exitFailed)
	sparse := file("sparse", nil)
	if err := os.Truncate(sparse, 2<<30); err != nil {
		t.Fatal(err)
	}
	says(sparse, "no known trace format", nil, exitFailed)
	if err := os.Remove(sparse); err != nil {
		t.Fatal(err)
	}

	// Compression that goes on without giving anything, or gives too much.
	var member bytes.Buffer
	w := gzip.NewWriter(&member)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	says(file("members.gz", bytes.Repeat(member.Bytes(), 1<<20)), "unpack to nothing", nil, exitFailed)
	says(file("blocks.zst", append(zstdBomb(nil, 0)[:6], make([]byte, 32<<20)...)), "unpack to nothing", nil, exitFailed)
	says(file("window.zst", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xa0, 1, 0, 0}), "window of more than 128 MiB", nil, exitFailed)
	if !testing.Short() {
		says(file("bomb.zst", zstdBomb([]byte(`[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"a"}`+strings.Repeat(" ", 64<<10)), ' ')), "300 times", nil, exitPartial)
	}
}

// Pipes: one that closes at once, one that gives a trace and stays open for a
// while, and a file that grows while it is read.
func TestHostileWriters(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	feed := func(b string, hold bool) chan error {
		done := make(chan error, 1)
		go func() {
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err == nil {
				_, err = w.WriteString(b)
			}
			for n := 1; hold && err == nil && n > 0; { // until it was read
				n = unread(t, w)
			}
			done <- errors.Join(err, w.Close())
		}()
		return done
	}
	done := feed("", false)
	if line := survives(t, pipe, nil, exitFailed); !strings.Contains(line, "is empty") {
		t.Errorf("%q", line)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	done = feed(smallTrace, true)
	survives(t, pipe, nil, 0)
	if err := <-done; err != nil {
		t.Error(err)
	}

	grows := writeFile(t, "grows.txt", smallTrace)
	f, err := os.OpenFile(grows, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan bool), make(chan error, 1)
	go func() {
		line := smallTrace[strings.Index(smallTrace, "\n")+1:]
		for range 1000 { // 400 kB: it ends, whoever is faster
			if _, err := f.WriteString(line); err != nil {
				break // the test ends by what was read
			}
		}
		<-stop
		stopped <- f.Close()
	}()
	survives(t, grows, nil, 0, exitPartial)
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
