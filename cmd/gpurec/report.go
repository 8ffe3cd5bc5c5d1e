package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/gpurec/gpurec/export/report"
	"github.com/urfave/cli/v2"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "say what stands out, then delays, idle causes, GPU and API time, errors and losses",
		ArgsUsage: "run.gpurec …",
		Flags:     append(inputFlags(), &cli.BoolFlag{Name: "json", Usage: "print everything as one JSON object"}),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("report takes an input, or several of one run, as in: gpurec report run.gpurec")
			}
			in, err := openInputs(c, args)
			if err != nil {
				return err
			}
			defer in.Close()
			b := report.NewBuilder(tool())
			b.Report().Input = strings.Join(args, " ")
			if _, err := correlateInto(c, in, b); err != nil {
				return err
			}
			if err := printReport(c, b.Report()); err != nil {
				return err
			}
			return in.result()
		},
	}
}

func printReport(c *cli.Context, r *report.Report) error {
	w := bufio.NewWriter(os.Stdout)
	var err error
	if c.Bool("json") {
		err = writeJSON(w, r)
	} else {
		err = r.WriteText(w)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
