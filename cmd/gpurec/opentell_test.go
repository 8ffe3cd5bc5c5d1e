package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// told is what open says of an address, with the browser that is asked for.
func told(t *testing.T, browser string) string {
	t.Helper()
	set := flag.NewFlagSet("open", flag.ContinueOnError)
	set.String("browser", browser, "")
	set.Bool("quiet", false, "")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := os.Stdout
	os.Stdout = w
	tellAddress(cli.NewContext(newApp(), set, nil), "https://ui.perfetto.dev/#!/?url=X")
	os.Stdout = out
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Over ssh the browser is elsewhere: open prints the command that forwards the
// port, the one that the Perfetto UI may fetch from, and starts nothing.
func TestOpenTellsHowToForward(t *testing.T) {
	t.Setenv("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22")
	t.Setenv("DISPLAY", ":0") // forwarded: no browser of this machine all the same
	t.Setenv("PATH", t.TempDir())
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text := told(t, "")
	if !strings.Contains(text, "\n  ssh -N -L 9001:127.0.0.1:9001 "+host+"\n") || !strings.Contains(text, "\n  https://ui.perfetto.dev/#!/?url=X\n") {
		t.Errorf("it says %q", text)
	}
}

// The program asked for is given the address; none is none.
func TestOpenStartsTheBrowser(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	program := filepath.Join(dir, "browser")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf %s \"$1\" > \""+got+".new\" && mv \""+got+".new\" \""+got+"\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_CONNECTION", "")
	t.Setenv("DISPLAY", ":0")
	if text := told(t, "none"); text != "open https://ui.perfetto.dev/#!/?url=X\n" {
		t.Errorf("it says %q", text)
	}
	told(t, program)
	for !exists(got) { // the test's own limit ends it
		time.Sleep(time.Millisecond)
	}
	if b, err := os.ReadFile(got); err != nil || string(b) != "https://ui.perfetto.dev/#!/?url=X" {
		t.Errorf("the browser was given %q, %v", b, err)
	}
}
