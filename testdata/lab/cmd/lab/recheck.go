package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpurec/gpurec/testdata/lab/check"
	"github.com/gpurec/gpurec/testdata/lab/host"
)

// checkAgain checks what an earlier run left once more, and packs it if asked to.
func (o *options) checkAgain(tasks []host.Task) error {
	var t table
	kernels, err := filepath.Glob(filepath.Join(o.recheck, "*", "todo"))
	if err != nil {
		return err
	}
	for _, k := range kernels {
		k = filepath.Dir(k)
		for _, task := range tasks {
			results := filepath.Join(k, task.Name())
			if _, err := os.Stat(results); err != nil {
				continue // not run then
			}
			problems := check.Dir(results, task.Scenario, task.Mode)
			t.row(filepath.Base(k), task, 0, problems)
			if err := o.pack(results, filepath.Base(k), task, problems); err != nil {
				return err
			}
		}
	}
	if t.ok+t.failed == 0 {
		return fmt.Errorf("%s holds no results", o.recheck)
	}
	return t.end(os.Stdout, 0)
}

// pack packs the results of a task that is ok, if packing was asked for.
func (o *options) pack(results, release string, task host.Task, problems []string) error {
	if o.capture == "" || len(problems) > 0 {
		return nil
	}
	series := strings.Join(strings.SplitN(release, ".", 3)[:2], ".")
	return check.Pack(results, filepath.Join(o.capture, series+"-"+task.Name()+".tar.gz"))
}
