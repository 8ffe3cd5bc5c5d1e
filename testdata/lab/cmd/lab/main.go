// Command lab boots kernels with a mock GPU in QEMU, runs scenarios in them and
// compares what was traced with what happened.
//
//	lab [-kernel 6.12] [-scenario hang] [-out DIR] [-keep]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gpurec/gpurec/testdata/lab/check"
	"github.com/gpurec/gpurec/testdata/lab/host"
	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

// kernels are the series of Debian's that the lab boots.
var kernels = []string{"6.1", "6.12"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

type options struct {
	kernel, scenario, out    string
	keep, quiet, small       bool
	recheck, gpurec, capture string
	limit                    time.Duration
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.kernel, "kernel", "", "series of kernels, separated by commas (default all: "+strings.Join(kernels, ", ")+")")
	flag.StringVar(&o.scenario, "scenario", "", "names of scenarios, separated by commas (default all)")
	flag.StringVar(&o.out, "out", "", "directory for what the guests leave (default: a temporary one)")
	flag.BoolVar(&o.keep, "keep", false, "keep the temporary directory")
	flag.DurationVar(&o.limit, "limit", 30*time.Minute, "time that a guest may take")
	flag.StringVar(&o.capture, "capture", "", "pack the results of scenarios that are ok into this directory, for go test (with -small)")
	flag.BoolVar(&o.small, "small", false, "run scenarios in the small form that captures have")
	flag.StringVar(&o.gpurec, "gpurec", "", "the recorder to test, a static binary (default: build it)")
	flag.StringVar(&o.recheck, "recheck", "", "boot nothing: check again what a run left in this directory (its -out)")
	flag.BoolVar(&o.quiet, "q", false, "say nothing but the table")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("no argument %q is known; see -help", flag.Arg(0))
	}
	l, done, err := o.lab()
	if err != nil {
		return err
	}
	defer done()
	tasks, err := o.tasks(l)
	if err != nil {
		return err
	}
	if o.recheck != "" {
		return o.checkAgain(tasks)
	}
	return o.all(ctx, l, tasks)
}

func (o *options) lab() (*host.Lab, func(), error) {
	source, err := sourceDir()
	if err != nil {
		return nil, nil, err
	}
	cache, err := host.CacheDir()
	if err != nil {
		return nil, nil, err
	}
	done := func() {}
	if o.out == "" && o.recheck == "" {
		if o.out, err = os.MkdirTemp("", "gpurec-lab-"); err != nil {
			return nil, nil, err
		}
		if dir := o.out; !o.keep {
			done = func() { os.RemoveAll(dir) }
		}
	}
	l := &host.Lab{Source: source, Cache: cache, Out: o.out, Gpurec: o.gpurec, Log: func(format string, args ...any) {
		if !o.quiet {
			fmt.Fprintf(os.Stderr, format+"\n", args...)
		}
	}}
	return l, done, nil
}

// sourceDir is testdata/lab of the module that the working directory is in.
func sourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		lab := filepath.Join(d, "testdata", "lab")
		if _, err := os.Stat(filepath.Join(lab, "mockgpu", "Kbuild")); err == nil {
			return lab, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no testdata/lab above %s: run it inside the repository", dir)
		}
	}
}

func (o *options) tasks(l *host.Lab) ([]host.Task, error) {
	all, err := scenario.Load(filepath.Join(l.Source, "scenarios"))
	if err != nil {
		return nil, err
	}
	var tasks []host.Task
	wanted := list(o.scenario)
	for _, s := range all {
		if len(wanted) > 0 && !contains(wanted, s.Name) {
			continue
		}
		if o.small {
			if s, err = s.Small(); err != nil {
				return nil, err
			}
		}
		for _, m := range s.Modes {
			tasks = append(tasks, host.Task{Scenario: s, Mode: m})
		}
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("no scenario is named %s", o.scenario)
	}
	return tasks, nil
}

// all runs the tasks on every kernel and prints the table; an error says that
// something is wrong, not that a part was skipped.
func (o *options) all(ctx context.Context, l *host.Lab, tasks []host.Task) error {
	start := time.Now()
	var t table
	if err := l.Tools(ctx); err != nil {
		if !errors.Is(err, host.ErrUnavailable) {
			return err
		}
		t.skip("all", err)
		return t.end(os.Stdout, time.Since(start))
	}
	series := list(o.kernel)
	if len(series) == 0 {
		series = kernels
	}
	// Kernels are fetched one by one; guests run side by side, as each takes one CPU.
	parts := make([]table, len(series))
	errs := make([]error, len(series))
	var wg sync.WaitGroup
	for i, s := range series {
		k, err := l.Kernel(ctx, s)
		if err != nil {
			errs[i] = err
			continue
		}
		wg.Go(func() { errs[i] = o.kernelTasks(ctx, l, k, tasks, &parts[i]) })
	}
	wg.Wait()
	var failed error
	for i, s := range series {
		t.join(&parts[i])
		if errors.Is(errs[i], host.ErrUnavailable) {
			t.skip(s, errs[i])
		} else {
			failed = errors.Join(failed, errs[i])
		}
	}
	if o.keep && !o.quiet {
		fmt.Fprintln(os.Stderr, "results in", l.Out)
	}
	return errors.Join(failed, t.end(os.Stdout, time.Since(start)))
}

func (o *options) kernelTasks(ctx context.Context, l *host.Lab, k *host.Kernel, tasks []host.Task, t *table) error {
	module, err := l.Module(ctx, k)
	if err != nil {
		return err
	}
	initramfs, err := l.Initramfs(ctx, k, module)
	if err != nil {
		return err
	}
	g, err := l.Boot(ctx, k, initramfs, tasks, o.limit)
	if err != nil {
		return err
	}
	t.boot(k.Release, g)
	for i, task := range tasks {
		if i >= len(g.Outcomes) {
			t.row(k.Release, task, 0, []string{"not run: the guest had ended"})
			continue
		}
		out := g.Outcomes[i]
		problems := out.Failed
		if !out.Ended {
			problems = append(problems, "the guest ended in it; see "+g.Console)
		} else {
			problems = append(problems, check.Dir(out.Dir, task.Scenario, task.Mode)...)
		}
		t.row(k.Release, task, out.Took, problems)
		if err := o.pack(out.Dir, k.Release, task, problems); err != nil {
			return err
		}
	}
	return nil
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}
