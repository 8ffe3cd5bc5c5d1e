package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what is written to the second file is read
// from the first.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { m.Close() })
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	if err := unix.IoctlSetWinsize(int(s.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 200}); err != nil {
		t.Fatal(err)
	}
	return m, s
}

// screen is what a terminal shows after it was given text: lines without the
// spaces at their ends, no empty ones.
func screen(text []byte) (lines []string) {
	var line []rune
	col := 0
	for _, r := range string(text) {
		switch r {
		case '\n':
			lines, line = append(lines, string(line)), nil
		case '\r':
			col = 0
		default:
			for len(line) <= col {
				line = append(line, ' ')
			}
			line[col] = r
			col++
		}
	}
	lines = append(lines, string(line))
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// readAll returns what a terminal was given until its other end was closed.
func readAll(m *os.File) []byte {
	var all bytes.Buffer
	var b [4096]byte
	for {
		n, err := m.Read(b[:]) // EIO at the end
		all.Write(b[:n])
		if err != nil {
			return all.Bytes()
		}
	}
}

// fakeInput is a source whose state a test sets.
type fakeInput struct {
	read, size int64
	events     uint64
	ended      bool
}

func (f *fakeInput) Progress() (int64, int64) { return f.read, f.size }
func (f *fakeInput) Seen() (uint64, bool)     { return f.events, f.ended }

func TestProgressLines(t *testing.T) {
	t0 := time.Unix(1_000_000, 0)
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	var out bytes.Buffer
	p := &progress{w: &out, width: func() int { return 100 }, start: t0}
	f := &fakeInput{size: 474 << 20}
	p.add("a\rb.json", f)
	last := func() string {
		l := screen(out.Bytes())
		if len(l) == 0 {
			return ""
		}
		return l[len(l)-1]
	}
	want := func(now float64, line string) {
		t.Helper()
		p.tick(at(now))
		if got := last(); got != line {
			t.Errorf("after %.2f s:\n got %q\nwant %q", now, got, line)
		}
	}
	// 50 MiB and 600,000 events a second.
	for s := 0.0; s < 2; s += 0.5 {
		f.read, f.events = int64(s*50)<<20, uint64(s*600e3)
		want(s, "")
	}
	f.read, f.events = 100<<20, 1_200_000
	want(2, "a\ufffdb.json: 100 MiB of 474 MiB (21 %), 50.0 MiB/s, 600 k events/s, 8 s left") // 374 / 50
	// Rates are those of the last seconds: at 8 s those since 3 s, (150+200-150)/5.
	f.read, f.events = 150<<20, 1_800_000
	p.tick(at(3))
	f.read, f.events = 350<<20, 2_000_000
	want(8, "a\ufffdb.json: 350 MiB of 474 MiB (73 %), 40.0 MiB/s, 40 k events/s, 4 s left") // 124 / 40
	// What is read twice has no known end.
	f.read = 500 << 20
	want(9, "a\ufffdb.json: 500 MiB, 58.3 MiB/s, 33 k events/s") // (500-150)/6, 200,000/6
	// What a library reads by itself has events only.
	f.read, f.size = 0, 0
	p.tick(at(9.5))
	f.events = 2_200_000
	want(9.75, "a\ufffdb.json: 2.2 M events, 800 k events/s") // 200,000 / 0.25
	f.events = 2_000_000
	// Behind the input its events are joined.
	f.ended = true
	next := p.then("joining")
	want(10, "a\ufffdb.json: joining 0 of 2.0 M events (0 %)")
	next.done.Store(500_000)
	want(11, "a\ufffdb.json: joining 500 k of 2.0 M events (25 %), 500 k events/s, 3 s left")
	next.ended.Store(true)
	want(12, "a\ufffdb.json: writing, 0 s")
	want(13.5, "a\ufffdb.json: writing, 2 s")
	// It never wraps, and goes when something is printed.
	p.width = func() int { return 12 }
	want(14, "a\ufffdb.json: w")
	p.without(func() { out.WriteString("a note\r\n") })
	if got := screen(out.Bytes()); !slices.Equal(got, []string{"a note"}) {
		t.Errorf("beside a note: %q", got)
	}
	p.width = func() int { return 0 } // in the background
	want(15, "a note")
	p.width = func() int { return 100 }
	want(16, "a\ufffdb.json: writing, 4 s")
	p.pause()
	want(17, "a note")
	p.done = make(chan struct{})
	p.end()
	p.end()
	want(18, "a note")
}

func TestProgressUnits(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 0.1: "1 s", 59.5: "1 min 0 s", 200: "3 min 20 s", 3600 * 5.5: "5 h 30 min"} {
		if got := duration(time.Duration(s * float64(time.Second))); got != want {
			t.Errorf("duration(%g) = %q, not %q", s, got, want)
		}
	}
	if got := left(1e300); got != ", 100 h 0 min left" {
		t.Errorf("left: %q", got)
	}
}

// A command that waits for a pipe shows how far it is, and leaves nothing but
// what it prints anyway.
func TestProgressOnTerminal(t *testing.T) {
	dir := t.TempDir()
	line := smallTrace[strings.Index(smallTrace, "\n")+1:] // without its header
	whole := strings.Repeat(line, 200_000/len(line))
	for _, c := range []struct {
		name, text string
		args       []string
		code       int
		shows      string
		leaves     []string // beginnings of the lines
	}{
		{"import", whole, []string{"import", "IN", "-o", filepath.Join(dir, "a.gpurec")}, 0, "195 KiB", []string{filepath.Join(dir, "a.gpurec") + ": "}},
		{"partial", whole + strings.Repeat("x", 100<<10) + "\n", []string{"convert", "IN", filepath.Join(dir, "a.pftrace")}, exitPartial, "295 KiB",
			[]string{filepath.Join(dir, "a.pftrace") + ": ", "gpurec: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			master, slave := terminal(t)
			stderr := os.Stderr
			os.Stderr = slave
			defer func() { os.Stderr = stderr }()
			t0 := time.Unix(1_000_000, 0)
			ticks := make(chan time.Time)
			p := &progress{timer: func(time.Duration, func()) func() bool { return func() bool { return true } }}
			p.begin(slave, func() int { return columns(slave) }, t0, ticks)
			app := newApp()
			app.Metadata = map[string]any{progressKey: p}
			args := append([]string{"gpurec"}, c.args...)
			args[slices.Index(args, "IN")] = pipe
			code := make(chan int)
			go func() { code <- run(context.Background(), app, args) }()

			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteString("# tracer: nop\n" + c.text); err != nil {
				t.Fatal(err)
			}
			var shown []byte
			var b [4096]byte
			for now := t0.Add(progressAfter); !bytes.Contains(shown, []byte(pipe+": "+c.shows)); now = now.Add(progressEvery) {
				ticks <- now
				ticks <- now // the first was drawn, if an input is open
				if n, err := unix.Poll([]unix.PollFd{{Fd: int32(master.Fd()), Events: unix.POLLIN}}, 0); err == nil && n > 0 {
					n, err := master.Read(b[:])
					if err != nil {
						t.Fatal(err)
					}
					shown = append(shown, b[:n]...)
				}
			}
			w.Close()
			if got := <-code; got != c.code {
				t.Errorf("status %d", got)
			}
			os.Stderr = stderr
			slave.Close()
			shown = append(shown, readAll(master)...)
			got := screen(shown)
			if len(got) != len(c.leaves) {
				t.Fatalf("the terminal shows %q", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.leaves[i]) {
					t.Errorf("the terminal shows %q, not %q", got[i], c.leaves[i])
				}
			}
		})
	}
}

// The program itself, on a terminal and off it.
func TestQuietOnTerminal(t *testing.T) {
	trace := writeFile(t, "trace.txt", smallTrace)
	for _, quiet := range []bool{false, true} {
		master, slave := terminal(t)
		args := []string{"import", trace, "-o", filepath.Join(t.TempDir(), "x.gpurec")}
		if quiet {
			args = append(args, "--quiet")
		}
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), mainEnv+"=1")
		c.Stderr = slave
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		got := screen(readAll(master))
		if quiet && len(got) > 0 || !quiet && (len(got) != 1 || !strings.Contains(got[0], "3 events")) {
			t.Errorf("quiet %v: %q", quiet, got)
		}
	}
}

// A pipe that nobody writes to is waited for, but not without a word.
func TestWaitingIsSaid(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = f
	defer func() { os.Stderr = stderr }()
	var late func()
	app := newApp()
	begun := make(chan bool)
	app.Metadata = map[string]any{progressKey: &progress{timer: func(d time.Duration, f func()) func() bool {
		late = f
		close(begun)
		return func() bool { return true }
	}}}
	code := make(chan int)
	go func() { code <- run(context.Background(), app, []string{"gpurec", "info", pipe}) }()
	<-begun
	late()
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := <-code; got != exitFailed {
		t.Errorf("status %d", got)
	}
	b, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(string(b)), "\n"); len(got) != 2 || !strings.Contains(got[0], "waiting") || !strings.Contains(got[1], "is empty") {
		t.Errorf("%q", got)
	}
}
