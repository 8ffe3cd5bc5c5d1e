package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// logs compares what the recorder wrote in the guest, if it ran, with the truth.
func (r *results) logs(dir string, mode scenario.Mode) (problems []string) {
	origin := originNewer
	if mode == scenario.Legacy {
		origin = originLegacy
	}
	for _, name := range []string{"bpf", "ftrace"} {
		p, err := r.log(filepath.Join(dir, name+".gpurec"), name+".gpurec", origin)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this scenario runs no recorder
		}
		if err != nil {
			p = append(p, fmt.Sprintf("%s.gpurec: %v", name, err))
		}
		problems = append(problems, p...)
	}
	return problems
}

func (r *results) log(path, what, origin string) ([]string, error) {
	l, err := gpulog.Open(path, gpulog.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	in, err := l.Reader()
	if err != nil {
		return nil, err
	}
	sorted := gpulog.Sort(in, gpulog.SortOptions{})
	defer sorted.Close()
	return r.product(what, origin, sorted), nil
}
