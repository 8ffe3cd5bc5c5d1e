package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpurec/gpurec/testdata/lab/check"
	"github.com/gpurec/gpurec/testdata/lab/host"
)

// recheck checks what an earlier run left in dir once more.
func recheck(dir string, tasks []host.Task) error {
	var t table
	kernels, err := filepath.Glob(filepath.Join(dir, "*", "todo"))
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
			t.row(filepath.Base(k), task, 0, check.Dir(results, task.Scenario, task.Mode))
		}
	}
	if t.ok+t.failed == 0 {
		return fmt.Errorf("%s holds no results", dir)
	}
	return t.end(os.Stdout, 0)
}
