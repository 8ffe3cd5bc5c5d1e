package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// Progress is one line on a terminal, drawn over itself, once a command has
// worked for a while. It is gone before anything else is printed.
//
// There are up to three stages. While inputs are read it is bytes of the
// files, as they lie there, that are counted; where events had to be put in
// order first, it is then events joined of those read; what comes after the
// last event (files put together, pictures laid out) only says that it goes on.

const (
	progressAfter = 2 * time.Second
	progressEvery = 250 * time.Millisecond
	progressRate  = 5 * time.Second // over which rates are taken
)

// source is what progress asks an input. Any goroutine may call it.
type source interface {
	Progress() (read, size int64) // size is 0 if unknown
	Seen() (events uint64, ended bool)
}

// later counts what is done with events after they were read.
type later struct {
	what  string // "joining"
	done  atomic.Uint64
	ended atomic.Bool
}

// progress draws the line. The zero value draws nothing.
type progress struct {
	mu      sync.Mutex
	w       io.Writer // the terminal, nil if there is none
	width   func() int
	start   time.Time
	sources map[source]string
	next    *later
	samples []sample
	shown   int  // columns of the line that stands there
	paused  bool // until an input is opened
	done    chan struct{}
	// timer is time.AfterFunc, if it is nil.
	timer func(time.Duration, func()) (stop func() bool)
}

// after runs f after a while, unless it is stopped before.
func (p *progress) after(d time.Duration, f func()) (stop func() bool) {
	if p.timer != nil {
		return p.timer(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

// sample is a state of one stage.
type sample struct {
	at     time.Time
	stage  string
	units  uint64 // bytes or events
	events uint64
}

const progressKey = "progress"

// progressOf returns the command's progress, which begins when it is first
// asked for.
func progressOf(c *cli.Context) *progress {
	if p := progressIn(c.App); p != nil {
		return p
	}
	p := &progress{}
	if c.App.Metadata == nil {
		c.App.Metadata = map[string]any{}
	}
	c.App.Metadata[progressKey] = p
	if !c.Bool("quiet") && isTerminal(os.Stderr) {
		t := time.NewTicker(progressEvery)
		p.begin(os.Stderr, func() int { return columns(os.Stderr) }, time.Now(), t.C)
	}
	return p
}

// progressIn returns the progress that has begun, or nil.
func progressIn(app *cli.App) *progress {
	p, _ := app.Metadata[progressKey].(*progress)
	return p
}

// begin starts to draw on w at each tick.
func (p *progress) begin(w io.Writer, width func() int, now time.Time, ticks <-chan time.Time) {
	p.w, p.width, p.start, p.done = w, width, now, make(chan struct{})
	go func() {
		for {
			select {
			case <-p.done:
				return
			case now := <-ticks:
				p.tick(now)
			}
		}
	}()
}

// end clears the line; nothing is drawn any more.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		close(p.done)
		p.clear()
		p.w = nil
	}
}

// without runs f, which prints something, while no line stands there. p may be nil.
func (p *progress) without(f func()) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	}
	f()
}

// pause clears the line until another input is opened: what comes is for people.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.paused = true
}

// off ends drawing if what is written, or typed, goes over the same terminal.
func (p *progress) off(path string, f *os.File) {
	if path == "-" && isTerminal(f) {
		p.end()
	}
}

// clear takes the line away. Spaces do so on every terminal.
func (p *progress) clear() {
	if p.w != nil && p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// add counts an input from now on; remove forgets it.
func (p *progress) add(name string, s source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sources == nil {
		p.sources = map[source]string{}
	}
	p.sources[s] = oneLine(name)
	p.paused, p.next = false, nil
}

func (p *progress) remove(s source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sources, s)
}

// then says what is done with the events that were read.
func (p *progress) then(what string) *later {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = &later{what: what}
	return p.next
}

// tick draws the line as it is now.
func (p *progress) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	line := p.line(now)
	if now.Sub(p.start) < progressAfter || line == "" || p.paused {
		return
	}
	if most := p.width() - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:max(0, most)])
	}
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.shown-n)))
	p.shown = n
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// columns returns the width of a terminal, or 0 while the program runs in its
// background, where the line would stand in what the shell shows.
func columns(f *os.File) int {
	if fg, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP); err == nil && fg != unix.Getpgrp() {
		return 0
	}
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 {
		return 80
	}
	return int(ws.Col)
}
