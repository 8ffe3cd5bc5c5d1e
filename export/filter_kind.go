package export

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpurec/gpurec/correlate"
)

// Kind is what --include and --exclude name: a table, or the rows of a table
// whose category matches a pattern.
type Kind struct {
	Table   string
	Pattern string // as in path.Match; "" is every row
}

// shortNames are what people may call tables.
var shortNames = map[string]string{
	"api": "api_calls", "calls": "api_calls", "waits": "fence_waits", "activities": "gpu_activities", "kernels": "gpu_activities",
	"idle": "idle_gaps", "logs": "log_lines", "memory": "mem_maps", "arrows": "links", "deps": "job_deps",
}

// alwaysKept are the tables that say what the run was.
var alwaysKept = []string{"processes", "threads", "devices", "losses", "anomalies", "function_names", "probes", "metadata", "rings"}

// attached tables follow the rows they speak of: --include need not name them.
var attached = []string{"links", "unmatched", "job_deps", "job_events"}

// categoryOf says which column a pattern is held against.
var categoryOf = map[string]string{
	"api_calls": "api", "ioctls": "role", "jobs": "ring", "gpu_activities": "kind", "slices": "category", "marks": "category",
	"counters": "name", "others": "name", "idle_gaps": "cause", "fences": "role", "samples": "name", "irqs": "name",
}

// KindNames lists the tables that a [Kind] may name, by the names people use.
func KindNames() string {
	short := map[string]string{}
	for s, t := range shortNames {
		if old := short[t]; old == "" || len(s) < len(old) {
			short[t] = s
		}
	}
	var names []string
	for _, t := range correlate.Tables {
		if !slices.Contains(alwaysKept, t.Name) {
			names = append(names, cmp.Or(short[t.Name], t.Name))
		}
	}
	return strings.Join(names, ", ")
}

// ParseKind reads "TABLE" or "TABLE:PATTERN".
func ParseKind(s string) (Kind, error) {
	name, pattern, has := strings.Cut(s, ":")
	table := cmp.Or(shortNames[name], name)
	switch {
	case correlate.TableByName(table) == nil:
		return Kind{}, fmt.Errorf("%q is no table; known are %s", name, KindNames())
	case slices.Contains(alwaysKept, table):
		return Kind{}, fmt.Errorf("table %s says what the run was, and is in every export", table)
	case has && categoryOf[table] == "":
		return Kind{}, fmt.Errorf("%q: rows of %s have no category; name the table alone", s, table)
	}
	if _, err := path.Match(pattern, ""); err != nil || has && pattern == "" {
		return Kind{}, fmt.Errorf("%q: %q is no pattern; it is held against the column %s, and * stands for anything", s, pattern, categoryOf[table])
	}
	return Kind{table, pattern}, nil
}

// choice is what is chosen of one table.
type choice struct {
	all, none bool // without a look at the row
	only, not []string
	small     bool // the table is left out for the size
	minor     bool // its lesser rows are

	left   [numReasons]uint64 // rows left out
	passed [2]uint64          // rows passed on; the lesser ones apart
}

func minorIndex(minor bool) int {
	if minor {
		return 1
	}
	return 0
}

func planOf(o *FilterOptions) map[string]*choice {
	plan := map[string]*choice{}
	for _, t := range correlate.Tables {
		c := &choice{all: len(o.Include) == 0 || slices.Contains(alwaysKept, t.Name) || slices.Contains(attached, t.Name)}
		for _, k := range o.Include {
			switch {
			case k.Table != t.Name:
			case k.Pattern == "":
				c.all = true
			default:
				c.only = append(c.only, k.Pattern)
			}
		}
		for _, k := range o.Exclude {
			switch {
			case k.Table != t.Name:
			case k.Pattern == "":
				c.none = true
			default:
				c.not = append(c.not, k.Pattern)
			}
		}
		plan[t.Name] = c
	}
	for _, s := range DetailSteps[:min(o.Detail, len(DetailSteps))] {
		if s.Minor {
			plan[s.Table].minor = true
		} else {
			plan[s.Table].small = true
		}
	}
	return plan
}

// takes reports whether a row of a category is chosen.
func (c *choice) takes(category string) bool {
	if c.none || !c.all && !matches(c.only, category) {
		return false
	}
	return !matches(c.not, category)
}

func matches(patterns []string, s string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, strings.ReplaceAll(s, "/", ":")); ok || p == s {
			return true
		}
	}
	return false
}

// Processes is a set of processes: by their row, and by pid where a row of
// another table names no process.
type Processes struct {
	ids  map[correlate.ID]bool
	pids map[int64]bool
}

// MatchProcesses returns the processes of a trace that any of the wanted pids
// or names (patterns as in path.Match) fits, and those wanted that fit none.
func MatchProcesses(rows []correlate.Process, wanted []string) (set *Processes, unmatched []string) {
	set = &Processes{ids: map[correlate.ID]bool{}, pids: map[int64]bool{}}
	for _, w := range wanted {
		found := false
		for i := range rows {
			p := &rows[i]
			if !isProcess(p, w) {
				continue
			}
			found = true
			set.ids[p.ID] = true
			if p.PID.OK {
				set.pids[p.PID.V] = true
			}
		}
		if !found {
			unmatched = append(unmatched, w)
		}
	}
	return set, unmatched
}

func isProcess(p *correlate.Process, wanted string) bool {
	if p.PID.OK && fmt.Sprint(p.PID.V) == wanted {
		return true
	}
	ok, err := path.Match(wanted, p.Name)
	return ok && err == nil && p.Name != ""
}

func (s *Processes) has(id correlate.ID, pid correlate.OptInt) bool {
	if s == nil {
		return true
	}
	if id != 0 {
		return s.ids[id]
	}
	return pid.OK && s.pids[pid.V]
}

func sortMetadata(m []correlate.Metadata) {
	slices.SortFunc(m, func(a, b correlate.Metadata) int { return cmp.Compare(a.Key, b.Key) })
}
