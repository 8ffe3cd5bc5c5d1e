package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/gpurec/gpurec/export"
	"github.com/urfave/cli/v2"
)

func exportFlags() []cli.Flag {
	return append(inputFlags(),
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `OUT`: *.pftrace (Perfetto), *.json (Chrome), both also *.gz, DIR/ (Parquet), - (standard output); {host} and {run} are filled in"},
		&cli.StringFlag{Name: "format", Usage: "write `FORMAT`, whatever OUT is called: " + exporterNames()},
		&cli.StringFlag{Name: "from-time", Usage: "leave out what ends before `TIME`: a duration from the start of the trace (1.5s), or nanoseconds of its clock"},
		&cli.StringFlag{Name: "to-time", Usage: "leave out what begins at or after `TIME`"},
		&cli.StringSliceFlag{Name: "process", Usage: "leave out other processes than `PID|NAME`; the machine's rows stay (scheduling, idle gaps, resets, losses). Repeatable; NAME may hold *"},
		&cli.StringSliceFlag{Name: "include", Usage: "write these `TABLE[:CATEGORY]` only, as in api,jobs,activities:kernel: " + export.KindNames()},
		&cli.StringSliceFlag{Name: "exclude", Usage: "leave these `TABLE[:CATEGORY]` out, as in sched,slices:python*"},
		&cli.StringFlag{Name: "max-output", Usage: "leave detail out until OUT takes at most `SIZE`, in the order of docs/perfetto.md"},
		&cli.BoolFlag{Name: "render-stages", Usage: "Perfetto: GPU activities also as render stages, for its GPU plugins; SQL then sees each twice"},
		&cli.BoolFlag{Name: "compress-packets", Usage: "Perfetto: deflate packets inside the trace, for tools that cannot read .gz"})
}

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write a log or trace for Perfetto (.pftrace), as Chrome JSON, or as Parquet tables (a directory)",
		ArgsUsage: "run.gpurec … -o OUT",
		Flags:     exportFlags(),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) == 0 || c.String("output") == "" {
				return usageError("export takes an input, or several of one run, and -o OUT, as in: gpurec export run.gpurec -o run.pftrace")
			}
			return convert(c, args, c.String("output"))
		},
	}
}

func convertCommand() *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "the same as export, with the output as last argument; several inputs become one, clocks aligned",
		ArgsUsage: "IN… OUT",
		Flags:     exportFlags(),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if o := c.String("output"); o != "" {
				args = append(args, o)
			}
			if len(args) < 2 {
				return usageError("convert takes inputs and an output, as in: gpurec convert trace.txt run.pftrace")
			}
			return convert(c, args[:len(args)-1], args[len(args)-1])
		},
	}
}

func convert(c *cli.Context, from []string, to string) error {
	for _, f := range from {
		if err := replaceable(f, to); err != nil {
			return err
		}
	}
	progressOf(c).off(to, os.Stdout)
	sel, err := selectionOf(c, to)
	if err != nil {
		return err
	}
	defer sel.close()
	if from, err = sel.prepare(c, from); err != nil {
		return err
	}
	for {
		again, err := convertOnce(c, sel, from, to)
		if !again {
			return err
		}
	}
}

// convertOnce exports once. again says that the output was too large and that
// the selection leaves more out now.
func convertOnce(c *cli.Context, sel *selection, from []string, to string) (again bool, err error) {
	in, err := openInputs(c, from)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if to, err = outputPath(to, cmp.Or(sel.named, in.name), in.Meta()); err != nil {
		return false, err
	}
	sink, filter, err := sel.open(c, in.name, to)
	if err != nil {
		return false, err
	}
	sum, err := correlateInto(c, in, sink)
	if err != nil {
		return sel.lower(c, filter, err)
	}
	if line := sel.beside(sum); line != "" {
		note(c, "%s", line)
	}
	if filter != nil {
		sum = filter.Summary()
		if s := filter.Text(); s != "" {
			note(c, "left out: %s", s)
		}
	}
	made := to
	if c.Command.Name == "open" {
		made = strings.Join(from, ", ") // it knows nothing of the picture in between
	}
	note(c, "%s: %d events, %s", made, total(sum.Events[:]), rowsLine(sum))
	return false, in.result()
}
