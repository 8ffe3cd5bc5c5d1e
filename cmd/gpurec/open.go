package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpurec/gpurec/record/importer"
	"github.com/urfave/cli/v2"
)

const (
	uiOrigin = "https://ui.perfetto.dev"
	// The UI's content security policy lets it fetch from this address alone.
	openAddr = "127.0.0.1:9001"
)

func openCommand() *cli.Command {
	return &cli.Command{
		Name:      "open",
		Usage:     "show a log or trace in the Perfetto UI through a local server",
		ArgsUsage: "run.gpurec | run.pftrace | trace.txt …",
		Description: "Serves the one file on " + openAddr + " to the one origin until it is fetched. Nothing leaves\n" +
			"the machine: the page that the browser loads reads the file from here.",
		Flags: append(inputFlags(),
			&cli.StringFlag{Name: "browser", Usage: "start `PROGRAM` instead of the desktop's browser; none prints the address only"},
			&cli.StringFlag{Name: "origin", Value: uiOrigin, Usage: "`URL` of the Perfetto UI, for an installation of your own"},
			&cli.StringFlag{Name: "timeout", Value: "1m", Usage: "end if nobody has begun to fetch after `TIME`: 30s, 5m; seconds without a unit"}),
		Action: openAction,
	}
}

func openAction(c *cli.Context) error {
	args, err := parseMixed(c)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return usageError("open takes a file, or several of one run, as in: gpurec open run.gpurec")
	}
	origin := strings.TrimSuffix(c.String("origin"), "/")
	if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Path != "" {
		return usageError("--origin %q is no origin; write it as %s", origin, uiOrigin)
	}
	timeout, err := parseDuration(c.String("timeout"))
	if err != nil || timeout <= 0 {
		return usageError("--timeout %q is no time; write it as 30s or 5m", c.String("timeout"))
	}
	trace, cleanup, err := traceFor(c, args)
	if err != nil {
		return err
	}
	defer cleanup()
	l, err := net.Listen("tcp", openAddr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; the Perfetto UI can fetch from this address only: end what uses it (another gpurec open, trace_processor)", openAddr, errors.Unwrap(err))
	}
	s, err := newTraceServer(trace, origin, l.Addr().String())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	address := uiAddress(origin, s.url())
	tellAddress(c, address)
	return s.serve(c.Context, l, timeout)
}

// traceFor returns the file to serve: the input itself if it is one Perfetto
// trace, else its export in a temporary directory that cleanup removes.
func traceFor(c *cli.Context, paths []string) (trace string, cleanup func(), err error) {
	path := paths[0]
	if len(paths) > 1 {
		path = "merged"
	} else if (strings.HasSuffix(path, ".pftrace") || strings.HasSuffix(path, ".pftrace.gz")) && isPerfetto(path) {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "gpurec-open-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the picture: %w; name a place for it with TMPDIR", err)
	}
	cleanup = func() { os.RemoveAll(dir) }
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if path == "-" || name == "" {
		name = "trace"
	}
	trace = filepath.Join(dir, name+".pftrace")
	var ee *exitError
	if err := convert(c, paths, trace); err != nil {
		if !errors.As(err, &ee) || ee.code != exitPartial {
			cleanup()
			if strings.Contains(err.Error(), dir) { // nobody asked for that file
				err = fmt.Errorf("%s: make a picture of it in %s: %w; make room there, or name another place with TMPDIR", shownName(path), filepath.Dir(dir), cause(err))
			}
			return "", nil, err
		}
		fmt.Fprintln(os.Stderr, "gpurec:", err)
	}
	return trace, cleanup, nil
}

// isPerfetto reports whether a file is what its name says. What cannot be read
// or is something else is converted, or says by that what is wrong.
func isPerfetto(path string) bool {
	s, err := importer.OpenMember(path, "")
	if err != nil {
		return false
	}
	defer s.Close()
	f, err := importer.Detect(s, importers(), "")
	return err == nil && f.Name == "perfetto"
}

// cause is what the operating system says of a file, without its name.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// gpuGroups is what the UI matches with paths, names joined by " > ". A GPU's
// own name may hold brackets.
const gpuGroups = `^GPU \d+( \([^>]*\))?$`

// uiAddress is the address that makes the UI fetch the trace and unfold the
// GPUs' groups, which are folded otherwise.
func uiAddress(origin, trace string) string {
	type command struct {
		ID   string   `json:"id"`
		Args []string `json:"args"`
	}
	b, err := json.Marshal([]command{{"dev.perfetto.ExpandTracksByRegex", []string{gpuGroups, "path"}}})
	if err != nil {
		b = nil // cannot happen: strings only
	}
	return origin + "/#!/?url=" + url.QueryEscape(trace) + "&startupCommands=" + url.QueryEscape(string(b))
}

// tellAddress starts the browser, or says how to reach the address.
func tellAddress(c *cli.Context, address string) {
	browser := c.String("browser")
	if os.Getenv("SSH_CONNECTION") != "" && browser == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "THIS-HOST"
		}
		fmt.Printf("you are logged in over ssh: on the machine with the browser run\n  ssh -N -L 9001:%s %s\nand open\n  %s\n", openAddr, host, address)
		return
	}
	fmt.Printf("open %s\n", address)
	if browser == "none" || browser == "" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	if browser == "" {
		browser = "xdg-open"
	}
	cmd := exec.Command(browser, address)
	if err := cmd.Start(); err != nil {
		note(c, "no browser could be started (%v): open the address yourself", err)
		return
	}
	go cmd.Wait()
}

// waitFetched ends when the trace was fetched, the time is over before anyone
// began to, or the context is done.
func (s *traceServer) waitFetched(ctx context.Context, timeout time.Duration) error {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		select {
		case <-s.fetched:
			return nil
		case <-ctx.Done():
			return &exitError{130, errors.New("interrupted before the trace was fetched")}
		case <-t.C:
			if s.busy() {
				t.Reset(time.Second)
				continue
			}
			return fmt.Errorf("nobody fetched the trace within %v; open the address sooner, or give more time with --timeout", timeout)
		}
	}
}
