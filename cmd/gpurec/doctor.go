package main

import (
	"fmt"
	"os"

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
				for _, s := range removed {
					fmt.Println("removed", s)
				}
				if err == nil && len(removed) == 0 {
					fmt.Println("nothing to remove")
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

func printDoctor(r *record.Report) error {
	fmt.Printf("%s, Linux %s %s, %d CPUs\n\n", r.Host.Name, r.Host.Kernel, r.Host.Machine, r.Host.CPUs)
	for _, m := range r.Mechanisms {
		if m.OK {
			fmt.Printf("ok  %s\n", m.Name)
			continue
		}
		fmt.Printf("no  %s: %s\n", m.Name, m.Reason)
		if m.Effect != "" {
			fmt.Printf("      without it: %s\n", m.Effect)
		}
		if m.Remedy != "" {
			fmt.Printf("      to get it:  %s\n", m.Remedy)
		}
	}
	fmt.Println()
	if len(r.Devices) == 0 {
		fmt.Println("GPUs: none found")
	}
	for _, d := range r.Devices {
		fmt.Printf("GPU %+v\n", d)
	}
	for _, n := range r.Notes {
		fmt.Println(n)
	}
	for _, s := range r.Stale {
		fmt.Printf("left behind by a killed recorder: %s (gpurec doctor --clean removes it)\n", s)
	}
	return nil
}
