package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// usageColumns is how wide the text of a flag may be: its line then fits on a
// terminal of 120 columns.
const usageColumns = 74

// flagText is a flag's entry in the help: its names with what they take, and
// its text with lines cut and indented below one another.
func flagText(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return strings.Join(f.Names(), ", ")
	}
	usage, value := d.GetUsage(), ""
	if before, rest, found := strings.Cut(usage, "`"); found {
		value, rest, _ = strings.Cut(rest, "`")
		usage = before + value + rest
	}
	if def := strings.Trim(d.GetDefaultText(), `"`); d.TakesValue() && def != "" {
		usage += fmt.Sprintf(" (default: %s)", def)
	}
	var names []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			names = append([]string{"-" + n}, names...)
		} else {
			names = append(names, "--"+n)
		}
	}
	left := strings.Join(names, ", ")
	if value != "" {
		left += " " + value
	}
	if s, ok := f.(cli.DocGenerationSliceFlag); ok && s.IsSliceFlag() {
		left += " …"
	}
	return left + "\t" + strings.Join(lines(usage, usageColumns), "\n\t")
}

// importerNames are the formats that can be read besides logs.
func importerNames() string {
	var names []string
	for _, f := range importers() {
		if !f.Refused {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func exporterNames() string {
	var names []string
	for _, f := range exporters() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// lines cuts a text at blanks into lines of at most so many bytes, if its words allow.
func lines(text string, most int) []string {
	var out []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > most {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}
