package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/urfave/cli/v2"
)

func correlateCommand() *cli.Command {
	return &cli.Command{
		Name:      "correlate",
		Usage:     "print the joins by rule and confidence, and what stayed unmatched",
		ArgsUsage: "run.gpurec …",
		Flags: append(inputFlags(), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.StringFlag{Name: "explain", Usage: "print the chain of one row, as `TABLE:ID` names it (jobs:54), with every link, rule and missing partner"}),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("correlate takes an input, or several of one run, as in: gpurec correlate run.gpurec")
			}
			if row := c.String("explain"); row != "" {
				return explainRow(c, args, row)
			}
			in, err := openInputs(c, args)
			if err != nil {
				return err
			}
			defer in.Close()
			j := &joins{links: map[joinKey]uint64{}, unmatched: map[missKey]uint64{}}
			sum, err := correlateInto(c, in, j)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = writeJSON(os.Stdout, j.result(sum))
			} else {
				err = j.result(sum).print()
			}
			return cmp.Or(err, in.result())
		},
	}
}

type joinKey struct{ src, dst, rule, confidence string }
type missKey struct{ table, link, reason string }

// joins counts links and unmatched rows; it is a sink.
type joins struct {
	links     map[joinKey]uint64
	unmatched map[missKey]uint64
}

func (j *joins) Begin(*event.Meta) error      { return nil }
func (j *joins) End(*correlate.Summary) error { return nil }
func (j *joins) Abort()                       {}

func (j *joins) Write(r *correlate.Rows) error {
	for i := range r.Links {
		l := &r.Links[i]
		j.links[joinKey{l.SrcTable, l.DstTable, l.Rule, l.Confidence}]++
	}
	for i := range r.Unmatched {
		u := &r.Unmatched[i]
		j.unmatched[missKey{u.SrcTable, u.Link, u.Reason}]++
	}
	return nil
}

// joinsResult is what `correlate --json` prints.
type joinsResult struct {
	Rows      map[string]uint64 `json:"rows"`
	Links     []joinLine        `json:"links"`
	Unmatched []missLine        `json:"unmatched"`
}

type joinLine struct {
	Src        string `json:"src_table"`
	Dst        string `json:"dst_table"`
	Rule       string `json:"rule"`
	Confidence string `json:"confidence"`
	Count      uint64 `json:"count"`
}

type missLine struct {
	Table  string `json:"src_table"`
	Link   string `json:"link"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

func (j *joins) result(sum *correlate.Summary) *joinsResult {
	r := &joinsResult{Rows: sum.Rows, Links: []joinLine{}, Unmatched: []missLine{}}
	for k, n := range j.links {
		r.Links = append(r.Links, joinLine{k.src, k.dst, k.rule, k.confidence, n})
	}
	for k, n := range j.unmatched {
		r.Unmatched = append(r.Unmatched, missLine{k.table, k.link, k.reason, n})
	}
	slices.SortFunc(r.Links, func(a, b joinLine) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Confidence, b.Confidence))
	})
	slices.SortFunc(r.Unmatched, func(a, b missLine) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Link, b.Link), cmp.Compare(a.Reason, b.Reason))
	})
	return r
}

func (r *joinsResult) print() error {
	b := bufio.NewWriter(os.Stdout)
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, t := range correlate.Tables {
		if n := r.Rows[t.Name]; n > 0 {
			fmt.Fprintf(w, "rows\t%s\t%d\n", t.Name, n)
		}
	}
	for _, l := range r.Links {
		fmt.Fprintf(w, "link\t%s → %s\t%d\t%s\t%s\n", l.Src, l.Dst, l.Count, l.Confidence, l.Rule)
	}
	for _, u := range r.Unmatched {
		fmt.Fprintf(w, "unmatched\t%s without %s\t%d\t%s\n", u.Table, u.Link, u.Count, u.Reason)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.Flush()
}
