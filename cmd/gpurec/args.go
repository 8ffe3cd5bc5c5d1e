package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/urfave/cli/v2"
)

// parseMixed returns the arguments of a command whose flags may also stand
// after them ("export run.gpurec -o out"), which the flag parser stops at.
func parseMixed(c *cli.Context) ([]string, error) {
	var args []string
	rest := c.Args().Slice()
	for len(rest) > 0 {
		a := rest[0]
		rest = rest[1:]
		if a == "--" {
			return append(args, rest...), nil
		}
		if a == "-" || !strings.HasPrefix(a, "-") {
			args = append(args, a)
			continue
		}
		name, val, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name == "help" || name == "h" {
			return nil, errors.Join(cli.ShowSubcommandHelp(c), &exitError{})
		}
		f := findFlag(c.Command.Flags, name)
		if f == nil {
			return nil, usageError("%s has no flag %s; see gpurec %s --help", c.Command.Name, a, c.Command.Name)
		}
		if _, isBool := f.(*cli.BoolFlag); isBool && !has {
			val, has = "true", true
		}
		if !has {
			if len(rest) == 0 {
				return nil, usageError("%s needs a value", a)
			}
			val, rest = rest[0], rest[1:]
		}
		if err := c.Set(f.Names()[0], val); err != nil {
			return nil, usageError("%s %q: %v", a, val, err)
		}
	}
	return args, nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func total(n []uint64) (t uint64) {
	for _, v := range n {
		t += v
	}
	return t
}

// rowsLine names the tables that have rows, in their documented order.
func rowsLine(sum *correlate.Summary) string {
	var parts []string
	for _, t := range correlate.Tables {
		switch t.Name {
		case "metadata", "probes", "anomalies":
			continue
		}
		if n := sum.Rows[t.Name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t.Name))
		}
	}
	if len(parts) == 0 {
		return "no rows"
	}
	return strings.Join(parts, ", ")
}

// clockNames are what --clock takes: our names, and those of ftrace.
var clockNames = map[string]event.Clock{
	"": "", "boot": event.ClockBoottime, "mono": event.ClockMonotonic, "mono_raw": event.ClockMonotonicRaw, "global": event.ClockLocal,
	string(event.ClockBoottime): event.ClockBoottime, string(event.ClockMonotonic): event.ClockMonotonic,
	string(event.ClockMonotonicRaw): event.ClockMonotonicRaw, string(event.ClockRealtime): event.ClockRealtime,
	string(event.ClockLocal): event.ClockLocal,
}

func clockFlag(c *cli.Context) (event.Clock, error) {
	k, ok := clockNames[c.String("clock")]
	if !ok {
		return "", usageError("--clock %q is no clock; known are boottime (boot), monotonic (mono), monotonic_raw (mono_raw), realtime, local (global)", c.String("clock"))
	}
	return k, nil
}
