package main

import (
	"context"
	"debug/elf"
	"errors"
	"io"
	"os"

	"github.com/gpurec/gpurec/record"
	"github.com/urfave/cli/v2"
)

func recordCommand() *cli.Command {
	return &cli.Command{
		Name:      "record",
		Usage:     "run a command, or watch processes, and record what the GPU is asked to do",
		ArgsUsage: "[-o run.gpurec] [-p PID | -a] -- CMD ARGS…",
		Description: "Returns the command's exit status (128+n after signal n; 126, 127 as a shell does),\n" +
			"125 when recording itself failed, 2 for wrong usage. See gpurec doctor for what can be\n" +
			"recorded on this machine and what it needs.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: record.DefaultOutput, Usage: "write the log to `FILE`; - is standard output; an existing file becomes FILE.old"},
			&cli.IntSliceFlag{Name: "pid", Aliases: []string{"p"}, Usage: "record the running process `PID` and its children (several: -p 12,34); a command after -- then says how long"},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "record the whole system; a command after -- then says how long"},
			&cli.StringSliceFlag{Name: "probe", Usage: "record only this `GROUP` of BPF probes (several: api,ioctl): api, ioctl, sched, fence, task; none for no BPF"},
			&cli.StringSliceFlag{Name: "event", Aliases: []string{"e"}, Usage: "also record the tracepoint `SYSTEM:EVENT` through ftrace (globs allowed)"},
			&cli.BoolFlag{Name: "events-of-target", Usage: "only those --event raised by the recorded processes themselves"},
			&cli.StringFlag{Name: "duration", Usage: "end the recording (not the command) after `TIME`: 30s, 5m; seconds without a unit"},
			&cli.StringFlag{Name: "max-size", Usage: "end the recording before the log exceeds `SIZE`"},
			&cli.StringFlag{Name: "ring", Usage: "`SIZE` of the BPF ring buffer: raise it if events are lost"},
			&cli.StringFlag{Name: "ftrace-buffer", Usage: "`SIZE` of the ftrace buffer of each CPU: raise it if events are lost"},
			&cli.StringSliceFlag{Name: "library", Usage: "also probe the GPU API functions in this library or program `FILE` (a statically linked runtime, another name)"},
			&cli.BoolFlag{Name: "entry-only", Usage: "probe calls that only enqueue work at their entry alone: cheaper, without their duration and result"},
			&cli.BoolFlag{Name: "bpf-stats", Usage: "measure the BPF programs' own run time (costs every BPF program on the machine two clock readings a run)"},
			&cli.StringFlag{Name: "user", Usage: "run the command as `USER`"},
			&cli.BoolFlag{Name: "no-stop", Usage: "never stop a process while probes go into a library it has just loaded (its first calls may be missed)"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing but errors"},
		},
		Action: recordAction,
	}
}

func recordAction(c *cli.Context) error {
	o, err := recordOptions(c)
	if err != nil {
		return err
	}
	// The session handles signals itself: they belong to the command first.
	r, err := record.Run(context.Background(), *o)
	if r != nil {
		note(c, "gpurec: %s", r)
	}
	if code := record.ExitStatus(r, err); code != 0 || err != nil {
		return &exitError{code, err}
	}
	return nil
}

func recordOptions(c *cli.Context) (*record.Options, error) {
	o := &record.Options{
		Command:        c.Args().Slice(),
		PIDs:           c.IntSlice("pid"),
		All:            c.Bool("all"),
		User:           c.String("user"),
		Output:         c.String("output"),
		Stdout:         os.Stdout,
		Events:         c.StringSlice("event"),
		EventsOfTarget: c.Bool("events-of-target"),
		Libraries:      c.StringSlice("library"),
		EntryOnly:      c.Bool("entry-only"),
		RunTime:        c.Bool("bpf-stats"),
		NoStop:         c.Bool("no-stop"),
		ToolVersion:    toolVersion(),
		Warn: func(s string) {
			note(c, "gpurec: %s", s)
		},
	}
	if c.IsSet("probe") {
		o.Probes = c.StringSlice("probe")
		if len(o.Probes) == 1 && o.Probes[0] == "none" {
			o.Probes = []string{}
		}
	}
	for _, s := range []struct {
		flag string
		set  func(n int64)
	}{
		{"max-size", func(n int64) { o.MaxSize = n }},
		{"ring", func(n int64) { o.RingBytes = int(n) }},
		{"ftrace-buffer", func(n int64) { o.FtraceKB = int((n + 1023) / 1024) }},
	} {
		if !c.IsSet(s.flag) {
			continue
		}
		n, err := parseBytes(c.String(s.flag))
		if err != nil || n == 0 {
			return nil, usageError("--%s %q is no size; write it as 64M or 2G", s.flag, c.String(s.flag))
		}
		s.set(n)
	}
	if c.IsSet("duration") {
		d, err := parseDuration(c.String("duration"))
		if err != nil || d <= 0 {
			return nil, usageError("--duration %q is no time; write it as 30s or 5m", c.String("duration"))
		}
		o.Duration = d
	}
	for _, l := range o.Libraries {
		if err := probeable(l); err != nil {
			return nil, usageError("--library %s: %v", l, err)
		}
	}
	if o.Output == "" {
		return nil, usageError("the name of the log is empty: name a file with -o, or leave it out for %s", record.DefaultOutput)
	}
	if len(o.Command) == 0 && len(o.PIDs) == 0 && !o.All {
		return nil, usageError("record needs a command, -p PID or -a, as in: gpurec record -- ./train.py")
	}
	return o, nil
}

// probeable says why functions of a file cannot be probed, as far as its first
// bytes tell.
func probeable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	if !st.Mode().IsRegular() {
		return errors.New("is no file; name a library or program")
	}
	f, err := os.Open(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return errors.New("is no ELF file; name a library or program")
	}
	return nil
}
