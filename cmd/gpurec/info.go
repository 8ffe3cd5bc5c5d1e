package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
	"github.com/urfave/cli/v2"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "say what a file holds: counts by kind, time range, clocks, losses, anomalies",
		ArgsUsage: "FILE …",
		Flags:     append(inputFlags(), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"}),
		Action: func(c *cli.Context) error {
			args, err := parseMixed(c)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("info takes a file, or several of one run, as in: gpurec info run.gpurec")
			}
			in, err := openInputs(c, args)
			if err != nil {
				return err
			}
			defer in.Close()
			ib := &infoBuilder{i: newInfo(args), losses: map[lossKey]int{}}
			sum, err := correlateInto(c, in, ib)
			if err != nil {
				return err
			}
			ib.i.finish(sum, in.format)
			if c.Bool("json") {
				err = writeJSON(os.Stdout, ib.i)
			} else {
				err = ib.i.writeText(os.Stdout)
			}
			return cmp.Or(err, in.result())
		},
	}
}

// info is the object that `info --json` prints. Its keys are stable.
type info struct {
	ToolVersion   string            `json:"tool_version"`
	Files         []string          `json:"files"`
	Format        string            `json:"format"`
	Clock         string            `json:"clock"`
	StartNS       *int64            `json:"start_ns"`
	EndNS         *int64            `json:"end_ns"`
	Command       []string          `json:"command,omitempty"`
	ExitStatus    *int              `json:"exit_status"`          // of the command
	RecordedNS    *int64            `json:"recorded_unix_ns"`     // when it began, Unix time; null if nothing relates the clock to that
	WrittenBy     string            `json:"written_by,omitempty"` // what wrote the log, and its version
	Source        string            `json:"source"`               // what the events were read from first: live, kineto, …
	Inputs        []string          `json:"inputs"`               // names of the imported files
	Host          infoHost          `json:"host"`
	Events        map[string]uint64 `json:"events"`
	Rows          map[string]uint64 `json:"rows"`
	GPUActivities map[string]uint64 `json:"gpu_activities"`
	Anomalies     []infoAnomaly     `json:"anomalies"`
	Losses        []infoLoss        `json:"losses"`
	Processes     []infoProcess     `json:"processes"`
	Devices       []infoDevice      `json:"devices"`
	Probes        []infoProbe       `json:"probes"`
}

// infoHost has the keys that doctor's host has.
type infoHost struct {
	Name    string `json:"name"`
	Kernel  string `json:"kernel"`
	Machine string `json:"machine"`
	BootID  string `json:"boot_id"`
	CPUs    int    `json:"cpus"`
}

type infoAnomaly struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Count    uint64 `json:"count"`
	Remedy   string `json:"remedy"`
	Sample   string `json:"sample,omitempty"`
}

// infoLoss sums up the losses of one stream and CPU.
type infoLoss struct {
	Stream string  `json:"stream"`
	CPU    *int64  `json:"cpu"`
	Count  *uint64 `json:"count"` // of the gaps that say it; null if none does
	// Gaps is the number of intervals in which events are missing, Uncounted
	// that of those which do not say how many.
	Gaps      uint64 `json:"gaps"`
	Uncounted uint64 `json:"uncounted"`
}

type lossKey struct {
	stream string
	cpu    event.Opt[int64]
}

func (b *infoBuilder) addLoss(stream string, cpu event.Opt[int64], count event.Opt[uint64]) {
	k := lossKey{stream, cpu}
	at, ok := b.losses[k]
	if !ok {
		at = len(b.i.Losses)
		b.losses[k] = at
		b.i.Losses = append(b.i.Losses, infoLoss{Stream: stream, CPU: optPtr(cpu)})
	}
	l := &b.i.Losses[at]
	l.Gaps++
	switch {
	case !count.OK:
		l.Uncounted++
	case l.Count == nil:
		l.Count = &count.V
	default:
		*l.Count += count.V
	}
}

type infoProcess struct {
	PID     *int64 `json:"pid"`
	Name    string `json:"name"`
	StartNS *int64 `json:"start_ns"`
}

type infoDevice struct {
	GPU    int64  `json:"gpu"`
	Device string `json:"device"`
	Name   string `json:"name"`
	Driver string `json:"driver"`
	Rule   string `json:"rule"`
	// Version is the driver's.
	Version string `json:"version"`
}

type infoProbe struct {
	Name      string `json:"name"`
	Mechanism string `json:"mechanism"`
	State     string `json:"state"`
	Reason    string `json:"reason,omitempty"`
	Hits      uint64 `json:"hits"`
	Lost      uint64 `json:"lost"`
}

func newInfo(files []string) *info {
	return &info{
		ToolVersion: toolVersion(), Files: files,
		Events: map[string]uint64{}, GPUActivities: map[string]uint64{},
		Inputs: []string{}, Anomalies: []infoAnomaly{}, Losses: []infoLoss{}, Processes: []infoProcess{}, Devices: []infoDevice{}, Probes: []infoProbe{},
	}
}

// infoBuilder is a sink that keeps the rows that info tells.
type infoBuilder struct {
	i      *info
	losses map[lossKey]int // places in i.Losses
}

func (b *infoBuilder) Begin(*event.Meta) error      { return nil }
func (b *infoBuilder) End(*correlate.Summary) error { return nil }
func (b *infoBuilder) Abort() error                 { return nil }

func (b *infoBuilder) Write(r *correlate.Rows) error {
	i := b.i
	for k := range r.GPUActivities {
		if r.GPUActivities[k].SameAsID == 0 { // else it is counted already
			i.GPUActivities[r.GPUActivities[k].Kind]++
		}
	}
	for _, a := range r.Anomalies {
		i.Anomalies = append(i.Anomalies, infoAnomaly{a.Name, a.Severity, a.Count, a.Remedy, a.Sample})
	}
	for _, l := range r.Losses {
		b.addLoss(l.Stream, l.CPU, l.Count)
	}
	for _, p := range r.Processes {
		ip := infoProcess{PID: optPtr(p.PID), Name: p.Name}
		if p.StartNS.OK {
			ip.StartNS = new(int64(p.StartNS.V))
		}
		i.Processes = append(i.Processes, ip)
	}
	for _, d := range r.Devices {
		i.Devices = append(i.Devices, infoDevice{d.Index, d.Device, d.Name, d.Driver, d.Rule, d.Version})
	}
	for _, p := range r.Probes {
		i.Probes = append(i.Probes, infoProbe{p.Name, p.Mechanism, p.State, p.Reason, p.Hits, p.Lost})
	}
	return nil
}

func optPtr[T any](o event.Opt[T]) *T {
	if !o.OK {
		return nil
	}
	return &o.V
}

func (i *info) finish(sum *correlate.Summary, format string) {
	i.Format, i.Clock, i.Rows = format, string(sum.Meta.Clock), sum.Rows
	if sum.Start.Known() {
		i.StartNS, i.EndNS = new(int64(sum.Start)), new(int64(sum.End))
	}
	i.origin(&sum.Meta)
	for k := event.Kind(1); k < event.NumKinds; k++ {
		if n := sum.Events[k]; n > 0 {
			i.Events[k.String()] = n
		}
	}
}

func (i *info) writeText(out io.Writer) error {
	b := bufio.NewWriter(out)
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s (%s)\n", oneLine(strings.Join(i.Files, ", ")), i.formatText())
	i.writeOrigin(w)
	fmt.Fprintf(w, "clock\t%s\n", i.Clock)
	if i.StartNS != nil {
		fmt.Fprintf(w, "time\t%s to %s s\n", seconds(*i.StartNS), seconds(*i.EndNS))
	} else {
		fmt.Fprintf(w, "time\tno event has one\n")
	}
	for k := event.Kind(1); k < event.NumKinds; k++ {
		if n := i.Events[k.String()]; n > 0 {
			fmt.Fprintf(w, "events\t%s\t%d\n", k, n)
		}
	}
	for _, t := range correlate.Tables {
		if n := i.Rows[t.Name]; n > 0 {
			fmt.Fprintf(w, "rows\t%s\t%d\n", t.Name, n)
		}
	}
	silent := 0
	for _, p := range i.Probes {
		if p.State == "attached" && p.Hits == 0 && p.Lost == 0 {
			silent++
			continue
		}
		fmt.Fprintf(w, "probe\t%s\t%s %s\t%d hits, %d lost", oneLine(p.Name), p.Mechanism, p.State, p.Hits, p.Lost)
		if p.Reason != "" {
			fmt.Fprintf(w, "\t%s", oneLine(p.Reason))
		}
		fmt.Fprintln(w)
	}
	if silent > 0 {
		fmt.Fprintf(w, "probes\t%d more attached, without hits (--json has all)\n", silent)
	}
	for _, l := range i.Losses {
		fmt.Fprintf(w, "loss\t%s\t%s\n", oneLine(l.Stream), l.text())
	}
	for _, a := range i.Anomalies {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", a.Severity, oneLine(a.Name), a.Count, oneLine(a.Remedy))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.Flush()
}

// seconds writes nanoseconds as seconds; a clock may begin below zero.
func seconds(ns int64) string {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
}

func (l *infoLoss) text() string {
	s := "unknown number of events"
	if l.Count != nil {
		s = fmt.Sprintf("%d events", *l.Count)
		if *l.Count == 1 {
			s = "1 event"
		}
		if l.Uncounted > 0 {
			s += " and an unknown number more"
		}
	}
	if l.CPU != nil {
		s += fmt.Sprintf(" of CPU %d", *l.CPU)
	}
	if l.Gaps == 1 {
		return s + " in 1 gap"
	}
	return s + fmt.Sprintf(" in %d gaps", l.Gaps)
}
