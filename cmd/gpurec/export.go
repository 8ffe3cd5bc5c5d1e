package main

import (
	"github.com/urfave/cli/v2"
)

func exportFlags() []cli.Flag {
	return append(inputFlags(),
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `OUT`: *.pftrace (Perfetto), *.json (Chrome), both also *.gz, DIR/ (Parquet), - (standard output)"},
		&cli.StringFlag{Name: "format", Usage: "write `FORMAT`, whatever OUT is called: " + exporterNames()})
}

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write a log or trace for Perfetto (.pftrace), as Chrome JSON, or as Parquet tables (a directory)",
		ArgsUsage: "run.gpurec -o OUT",
		Flags:     exportFlags(),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) != 1 || c.String("output") == "" {
				return usageError("export takes one input and -o OUT, as in: gpurec export run.gpurec -o run.pftrace")
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
		Flags:     append(exportFlags(), mergeFlags()...),
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
	in, err := openInputs(c, from)
	if err != nil {
		return err
	}
	defer in.Close()
	sink, err := openSink(c, in.name, to)
	if err != nil {
		return err
	}
	sum, err := correlateInto(c, in, sink)
	if err != nil {
		return err
	}
	note(c, "%s: %d events, %s", to, total(sum.Events[:]), rowsLine(sum))
	return in.result()
}
