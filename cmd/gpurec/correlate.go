package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export/explain"
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
func (j *joins) Abort() error                 { return nil }

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
	Stages    []joinStage       `json:"stages"`
}

// joinStage is a table of the chain: what its rows were joined to as the effect, and
// what they miss.
type joinStage struct {
	Table     string     `json:"table"`
	Rows      uint64     `json:"rows"`
	Matched   []joinLine `json:"matched"`
	Unmatched []missLine `json:"unmatched"`
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
	r := &joinsResult{Rows: sum.Rows, Links: []joinLine{}, Unmatched: []missLine{}, Stages: []joinStage{}}
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
	for _, t := range explain.Tables {
		st := joinStage{Table: t, Rows: sum.Rows[t], Matched: []joinLine{}, Unmatched: []missLine{}}
		for _, l := range r.Links {
			if l.Dst == t {
				st.Matched = append(st.Matched, l)
			}
		}
		slices.SortStableFunc(st.Matched, func(a, b joinLine) int { return cmp.Compare(section(a.Rule), section(b.Rule)) })
		for _, u := range r.Unmatched {
			if u.Table == t {
				st.Unmatched = append(st.Unmatched, u)
			}
		}
		if st.Rows > 0 {
			r.Stages = append(r.Stages, st)
		}
	}
	return r
}

func section(rule string) int {
	if s := correlate.RuleByName(rule); s != nil {
		return s.Section
	}
	return 0
}

// print shows the joins for a person: a block a stage of the chain, then the
// rows that are in no chain.
func (r *joinsResult) print() error {
	b := bufio.NewWriter(os.Stdout)
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i := range r.Stages {
		st := &r.Stages[i]
		fmt.Fprintf(w, "%s\t%d rows\n", st.Table, st.Rows)
		for _, l := range st.Matched {
			from := "from " + l.Src
			if l.Src == l.Dst {
				from = "among themselves"
			}
			fmt.Fprintf(w, "  joined by %s\t%d\t%s\t%s, section %d\n", l.Rule, l.Count, l.Confidence, from, section(l.Rule))
		}
		for _, u := range st.Unmatched {
			fmt.Fprintf(w, "  without %s\t%d\t%s\t%s\n", u.Link, u.Count, u.Reason, explain.Meaning(u.Table, u.Link, correlate.Reason(u.Reason)))
		}
	}
	fmt.Fprintln(w, "in no chain")
	for _, t := range correlate.Tables {
		if n := r.Rows[t.Name]; n > 0 && !slices.Contains(explain.Tables, t.Name) {
			fmt.Fprintf(w, "  %s\t%d rows\n", t.Name, n)
		}
	}
	for _, u := range r.Unmatched { // slices may miss an end too
		if !slices.Contains(explain.Tables, u.Table) {
			fmt.Fprintf(w, "  %s without %s\t%d\t%s\t%s\n", u.Table, u.Link, u.Count, u.Reason, explain.Meaning(u.Table, u.Link, correlate.Reason(u.Reason)))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.Flush()
}
