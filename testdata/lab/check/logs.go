package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// logs compares what the recorders wrote in the guest, if they ran, with the
// truth and with each other.
func (r *results) logs(dir string, s *scenario.Scenario, mode scenario.Mode) []string {
	if _, err := os.Stat(filepath.Join(dir, "bpf.gpurec")); errors.Is(err, fs.ErrNotExist) {
		return nil // this scenario runs no recorder
	}
	origin := originNewer
	if mode == scenario.Legacy {
		origin = originLegacy
	}
	var both []*product
	for _, name := range []string{"bpf.gpurec", "ftrace.gpurec"} {
		p, err := readLog(filepath.Join(dir, name), name, origin)
		if err != nil {
			return []string{err.Error()}
		}
		both = append(both, p)
	}
	var problems []string
	for _, p := range both {
		if s.Log != scenario.Lossy {
			var wrong []string
			p.excused, wrong = r.missed(p)
			problems = append(problems, wrong...)
		}
		if s.Log == scenario.Whole {
			problems = append(problems, r.product(p)...)
		} else {
			problems = append(problems, r.edges(p)...)
		}
	}
	if s.Log == scenario.Whole {
		problems = append(problems, r.chain(both[0])...)
		problems = append(problems, r.chain(both[1])...)
		problems = append(problems, sameLogs(both[0], both[1])...)
	}
	return problems
}

// readLog correlates a log; what is its name, bpf.gpurec or ftrace.gpurec.
func readLog(path, what, origin string) (*product, error) {
	l, err := gpulog.Open(path, gpulog.ReaderOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer l.Close()
	in, err := l.Reader()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	sorted := gpulog.Sort(in, gpulog.SortOptions{})
	defer sorted.Close()
	p, err := correlated(what, origin, sorted)
	if err == nil {
		p.log, p.bpf = true, what == "bpf.gpurec"
	}
	return p, err
}

// count keeps the least of what the logs say of a measure.
func (r *results) count(name string, n int64) {
	if r.logCounts == nil {
		r.logCounts = map[string]int64{}
	}
	if have, ok := r.logCounts[name]; !ok || n < have {
		r.logCounts[name] = n
	}
}
