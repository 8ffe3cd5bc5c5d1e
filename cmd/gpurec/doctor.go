package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/gpurec/gpurec/record"
	"github.com/urfave/cli/v2"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "say what can be recorded on this machine, and how to get the rest",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "clean", Usage: "remove what recorders that were killed left behind"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("doctor takes no arguments")
			}
			if c.Bool("clean") {
				removed, err := record.Clean()
				if err == nil && len(removed) == 0 {
					_, err = fmt.Println("nothing to remove")
				}
				for _, s := range removed {
					if _, perr := fmt.Println("removed", s); err == nil {
						err = perr
					}
				}
				return err
			}
			r := record.Doctor(c.Context)
			if c.Bool("json") {
				return writeJSON(os.Stdout, r)
			}
			return printDoctor(r)
		},
	}
}

// deviceText is a device in one line: what is unknown is left out.
func deviceText(d *record.Device) string {
	s := d.ID
	for _, f := range [][2]string{
		{"", d.Name}, {"driver ", strings.TrimSpace(d.Driver + " " + d.Version)}, {"vendor ", d.Vendor},
		{"model ", d.Model}, {"uuid ", d.UUID}, {"nodes ", strings.Join(d.Nodes, " ")},
	} {
		if f[1] != "" {
			s += ", " + f[0] + f[1]
		}
	}
	return s
}

func printDoctor(r *record.Report) error {
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(w, "%s, Linux %s %s, %d CPUs\n\n", r.Host.Name, r.Host.Kernel, r.Host.Machine, r.Host.CPUs)
	for _, m := range r.Mechanisms {
		if m.OK {
			fmt.Fprintf(w, "ok  %s\n", m.Name)
			continue
		}
		fmt.Fprintf(w, "no  %s: %s\n", m.Name, m.Reason)
		if m.Effect != "" {
			fmt.Fprintf(w, "      without it: %s\n", m.Effect)
		}
		if m.Remedy != "" {
			fmt.Fprintf(w, "      to get it:  %s\n", m.Remedy)
		}
	}
	fmt.Fprintln(w)
	if len(r.Devices) == 0 {
		fmt.Fprintln(w, "GPUs: none found")
	}
	for _, d := range r.Devices {
		fmt.Fprintln(w, "GPU", deviceText(&d))
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, n)
	}
	for _, s := range r.Stale {
		fmt.Fprintf(w, "left behind by a killed recorder: %s (gpurec doctor --clean removes it)\n", s)
	}
	return w.Flush()
}
