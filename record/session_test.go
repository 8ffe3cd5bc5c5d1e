package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// slow marks tests that take a second or more.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
}

func TestStatusPassesThrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script string
		want   int
	}{
		{"exit 0", 0}, {"exit 7", 7}, {"exit 126", 126},
		{"kill -TERM $$", 143}, {"kill -9 $$", 137},
	} {
		r := startRecorder(t, recorderSpec{Command: sh(c.script), Fake: true})
		if got := r.wait(); got != c.want {
			t.Errorf("%s: status %d, want %d; it said:\n%s", c.script, got, c.want, r.stderr.String())
		}
		l := readLog(t, r.log)
		if !l.meta.ExitStatus.OK || l.meta.ExitStatus.V != c.want {
			t.Errorf("%s: the log says %v", c.script, l.meta.ExitStatus)
		}
		if l.cut {
			t.Errorf("%s: the log has no end", c.script)
		}
		if n := l.checkMarks(t); n == 0 {
			t.Errorf("%s: no marks", c.script)
		}
	}
}

func TestCommandCannotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name string
		cmd  []string
		want int
		log  bool // the failure is seen only by execve: there is a log by then
	}{
		{"not found in PATH", []string{"gpurec-no-such-program"}, 127, false},
		{"no such file", []string{filepath.Join(dir, "none")}, 127, false},
		{"not executable", []string{write("plain", "x\n", 0o644)}, 126, false},
		{"a directory", []string{dir}, 126, false},
		{"no interpreter", []string{write("bad", "#!/no/such/interpreter\n", 0o755)}, 126, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRecorder(t, recorderSpec{Command: c.cmd, Fake: true})
			if got := r.wait(); got != c.want {
				t.Errorf("status %d, want %d; it said:\n%s", got, c.want, r.stderr.String())
			}
			if !strings.Contains(r.stderr.String(), c.cmd[0]) {
				t.Errorf("the message does not name the command: %s", r.stderr.String())
			}
			_, err := os.Stat(r.log)
			if c.log != (err == nil) {
				t.Fatalf("log: %v", err)
			}
			if c.log {
				if l := readLog(t, r.log); l.cut || l.meta.ExitStatus.V != c.want {
					t.Errorf("log says %+v, cut %v", l.meta.ExitStatus, l.cut)
				}
			}
		})
	}
}

func TestScriptWithoutInterpreter(t *testing.T) {
	p := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(p, []byte("exit $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := startRecorder(t, recorderSpec{Command: []string{p, "9"}, Fake: true}).wait(); got != 9 {
		t.Errorf("status %d, want 9", got)
	}
}

// The command's pid is the one that sources were told before it ran, its
// descriptors and signal dispositions are those that it would have anyway.
func TestCommandSeesNothingOfTheRecorder(t *testing.T) {
	dir := t.TempDir()
	script := `echo $$ > pid; set -- /proc/$$/fd/*; for f; do echo ${f##*/}; done > fds; ` +
		`grep -E '^Sig(Blk|Ign)' /proc/self/status > sig; ulimit -n > nofile; env | grep -c GPUREC > env; echo done > done`
	plain := exec.Command("/bin/sh", "-c", script)
	plain.Dir = filepath.Join(dir, "plain")
	recorded := filepath.Join(dir, "recorded")
	for _, d := range []string{plain.Dir, recorded} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := plain.Run(); err != nil {
		t.Fatal(err)
	}
	r := startRecorder(t, recorderSpec{Command: sh("cd " + recorded + "; " + script), Fake: true})
	if got := r.wait(); got != 0 {
		t.Fatalf("status %d: %s", got, r.stderr.String())
	}
	for _, f := range []string{"fds", "sig", "nofile", "env"} {
		want, _ := os.ReadFile(filepath.Join(plain.Dir, f))
		got, err := os.ReadFile(filepath.Join(recorded, f))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q (%v), without recorder %q", f, got, err, want)
		}
	}
	pid := waitFile(t, filepath.Join(recorded, "pid"))
	l := readLog(t, r.log)
	found := false
	for i := range l.events {
		e := &l.events[i]
		found = found || e.Kind == event.KindProcess && strconv.Itoa(int(e.PID)) == pid && strings.Contains(e.Str(event.FieldCmdline), "ulimit")
	}
	if !found {
		t.Errorf("no process event names pid %s with its command line", pid)
	}
}

func TestRecorderKilled(t *testing.T) {
	slow(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	r := startRecorder(t, recorderSpec{Command: sh(`echo $$ > ` + file + `; exec sleep 100`), Fake: true})
	pid, _ := strconv.Atoi(waitFile(t, file))
	defer syscall.Kill(pid, syscall.SIGKILL)
	time.Sleep(3 * flushEvery)
	// As if a source had just stopped it to attach to a library.
	syscall.Kill(pid, syscall.SIGSTOP)
	r.cmd.Process.Kill()
	if got := r.wait(); got != 137 {
		t.Errorf("status %d, want 137", got)
	}
	for range 300 {
		if st, err := processState(pid); err == nil && st != 'T' {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if st, err := processState(pid); err != nil || st == 'T' {
		t.Errorf("the command is in state %c, %v: it should run on", st, err)
	}
	l := readLog(t, r.log)
	if !l.cut {
		t.Error("the log claims to be whole")
	}
	if n := l.checkMarks(t); n < 50 {
		t.Errorf("%d marks after %v: what was flushed should be there", n, 3*flushEvery)
	}
	if len(l.meta.Snapshots) < 1 || l.meta.Host.Kernel == "" {
		t.Errorf("metadata of a cut log: %+v", l.meta)
	}
}

func TestCommandLeavesChildren(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	r := startRecorder(t, recorderSpec{Command: sh(`sleep 100 >/dev/null 2>&1 & echo $! > ` + file + `; exit 3`), Fake: true})
	if got := r.wait(); got != 3 {
		t.Errorf("status %d, want 3", got)
	}
	pid, _ := strconv.Atoi(waitFile(t, file))
	defer syscall.Kill(pid, syscall.SIGKILL)
	if st, err := processState(pid); err != nil || st == 'T' || st == 'Z' {
		t.Errorf("the child is in state %c, %v: it should run on", st, err)
	}
}

func TestStandardOutput(t *testing.T) {
	t.Parallel()
	r := startRecorder(t, recorderSpec{Command: sh(`echo hello; exit 2`), Fake: true, Output: "-"})
	if got := r.wait(); got != 2 {
		t.Errorf("status %d, want 2", got)
	}
	if !strings.Contains(r.stderr.String(), "hello") {
		t.Errorf("the command's output went elsewhere: %q", r.stderr.String())
	}
	if l := readLogFrom(t, &r.stdout); l.cut || l.checkMarks(t) == 0 {
		t.Error("the log on standard output is not whole")
	}
}

func TestAttachToRunning(t *testing.T) {
	slow(t)
	t.Parallel()
	p := exec.Command("/bin/sh", "-c", "sleep 100 & wait")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Process.Kill()
	r := startRecorder(t, recorderSpec{PIDs: []int{p.Process.Pid}, Fake: true})
	time.Sleep(2 * flushEvery)
	for _, c := range descendants([]target{{pid: p.Process.Pid}}) {
		syscall.Kill(c, syscall.SIGKILL)
	}
	p.Wait()
	if got := r.wait(); got != 0 {
		t.Errorf("status %d, want 0", got)
	}
	if !strings.Contains(r.stderr.String(), EndTargets) {
		t.Errorf("it said %s", r.stderr.String())
	}
	l := readLog(t, r.log)
	names := map[string]bool{}
	for i := range l.events {
		if l.events[i].Kind == event.KindProcess {
			names[l.events[i].Str(event.FieldName)] = true
		}
	}
	if !names["sh"] || !names["sleep"] {
		t.Errorf("processes %v: the target and its child should be there", names)
	}
}

// Children of a target that end while probes are attached must not end the
// recording: BPF is given the processes named, not the children found.
func TestRoots(t *testing.T) {
	p := exec.Command("/bin/true")
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	gone := p.Process.Pid
	s := &session{o: &Options{PIDs: []int{os.Getpid(), gone}}, target: Target{PIDs: []int{os.Getpid(), gone, gone + 1}}}
	if got := s.roots(); !slices.Equal(got, []int{os.Getpid()}) {
		t.Errorf("roots %v, want only %d", got, os.Getpid())
	}
	if err := s.targetsEnded(); err != nil {
		t.Error(err)
	}
	s.o.PIDs = []int{gone}
	if err := s.targetsEnded(); err == nil {
		t.Error("the only target has ended, and nothing says so")
	}
}

func TestThreadIsNoProcess(t *testing.T) {
	for _, tid := range numericDir("/proc/self/task") {
		if tid == os.Getpid() {
			continue
		}
		err := (&Options{PIDs: []int{tid}}).check()
		var ue *UsageError
		if !errors.As(err, &ue) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("thread %d: %v", tid, err)
		}
		return
	}
	t.Skip("this process has one thread")
}

// perf's way to say how long: with -p or -a the command's end is the recording's.
func TestCommandSaysHowLong(t *testing.T) {
	slow(t)
	t.Parallel()
	p := exec.Command("/bin/sleep", "100")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { p.Process.Kill(); p.Wait() }()
	for _, all := range []bool{false, true} {
		spec := recorderSpec{All: all, Command: []string{"/bin/sh", "-c", "exit 7"}, Fake: true}
		if !all {
			spec.PIDs = []int{p.Process.Pid}
		}
		r := startRecorder(t, spec)
		if got := r.wait(); got != 7 {
			t.Errorf("all %v: status %d, want the command's 7: %s", all, got, r.stderr.String())
		}
		if !strings.Contains(r.stderr.String(), EndCommand) {
			t.Errorf("all %v: it said %s", all, r.stderr.String())
		}
		target, shell := false, false
		l := readLog(t, r.log)
		for i := range l.events {
			if e := &l.events[i]; e.Kind == event.KindProcess {
				target = target || int(e.PID) == p.Process.Pid
				shell = shell || strings.HasPrefix(e.Str(event.FieldCmdline), "/bin/sh -c exit 7")
			}
		}
		if !target || shell != all {
			t.Errorf("all %v: the target is in the log: %v, the command: %v", all, target, shell)
		}
	}
}

// A command whose recorder gives up, or dies, before it was let go never runs.
func TestAbandonedCommandNeverRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	c, err := startCommand([]string{"/bin/touch", file}, "/bin/touch", "", os.Environ(), os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if _, err := readStat(c.pid()); err != nil {
		t.Errorf("the starter does not wait: %v", err)
	}
	c.abandon()
	if _, err := readStat(c.pid()); err == nil {
		t.Error("the starter is still there")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

// A signal that ends the starter counts as the command's end.
func TestSignalBeforeTheCommandRuns(t *testing.T) {
	c, err := startCommand([]string{"/bin/true"}, "/bin/true", "", os.Environ(), os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	c.kill()
	for range 500 {
		if st, _ := processState(c.pid()); st == 'Z' {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	if st, ok := c.exitStatus(); !ok || st != 137 {
		t.Errorf("status %d, %v", st, ok)
	}
}

// Nobody reads the log any more: the command runs on, and its status counts.
func TestReaderGone(t *testing.T) {
	slow(t)
	t.Parallel()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "runs")
	text, _ := json.Marshal(recorderSpec{Command: sh(`echo yes > ` + file + `; sleep 1; exit 8`), Fake: true, Output: "-"})
	r := &recorder{t: t, cmd: exec.Command("/proc/self/exe")}
	r.cmd.Env = append(os.Environ(), recorderEnv+"="+string(text))
	r.cmd.Stdout, r.cmd.Stderr = pw, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pw.Close()
	waitFile(t, file)
	pr.Close()
	if got := r.wait(); got != 8 {
		t.Errorf("status %d, want 8; it said:\n%s", got, r.stderr.String())
	}
	if !strings.Contains(r.stderr.String(), EndOutput) {
		t.Errorf("it said %s", r.stderr.String())
	}
}

func TestSources(t *testing.T) {
	run := func(srcs ...*fakeSource) (*Result, []string, error) {
		var warned []string
		res, err := Run(t.Context(), Options{
			Command: []string{"/bin/sleep", "0.2"}, Output: filepath.Join(t.TempDir(), "run.gpurec"),
			Warn: func(s string) { warned = append(warned, s) },
			Sources: func(Target) (l []live.Source, err error) {
				for _, s := range srcs {
					l = append(l, s)
				}
				return l, nil
			},
		})
		for i, s := range srcs {
			if s.closed.Load() == 0 {
				t.Errorf("source %d was never closed", i)
			}
		}
		return res, warned, err
	}
	cannot := errors.New("no such thing here")
	t.Run("one of two cannot be attached", func(t *testing.T) {
		res, warned, err := run(&fakeSource{fail: cannot}, &fakeSource{})
		if err != nil || res.Err != nil || res.Status != 0 || len(warned) != 1 || warned[0] != "fake: no such thing here" {
			t.Errorf("%v, %v, warned %q", res, err, warned)
		}
		if l := readLog(t, res.File); len(l.meta.Probes) != 2 {
			t.Errorf("probes %+v: the failed source's should be there", l.meta.Probes)
		}
	})
	t.Run("none can be attached", func(t *testing.T) {
		res, warned, err := run(&fakeSource{fail: cannot})
		if !errors.Is(err, cannot) || ExitStatus(res, err) != 125 || len(warned) > 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, %v, warned %q", res, err, warned)
		}
	})
	t.Run("one breaks on the way", func(t *testing.T) {
		broken, sound := &fakeSource{breakAt: 3}, &fakeSource{}
		res, _, err := run(broken, sound)
		if err != nil || !errors.Is(res.Err, io.ErrUnexpectedEOF) || res.Status != 0 || res.End != EndCommand {
			t.Errorf("%v, %v", res, err)
		}
		want := int(broken.gave.Load() + sound.gave.Load())
		l := readLog(t, res.File)
		if got := l.count(event.KindMark); got != want || l.cut {
			t.Errorf("%d marks, want %d; cut %v", got, want, l.cut)
		}
	})
}

func TestResultText(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{File: "run.gpurec", Size: 12_345_678, Events: 1234567, End: EndCommand}, "run.gpurec: 11.8 MiB, 1,234,567 events, 0 lost; next: gpurec report run.gpurec"},
		{Result{File: "it's", Size: 999, Events: 1, Lost: 1000, End: EndSize}, `it's: 999 B, 1 events, 1,000 lost, ended early: size limit reached; next: gpurec report 'it'\''s'`},
		{Result{File: "-", Size: 12_345, End: EndDisk, Err: errors.New("write -: no space")}, "standard output: 12.1 KiB, 0 events, 0 lost, not whole: write -: no space"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, o := range []Options{
		{}, {All: true, PIDs: []int{1}}, {All: true, User: "x", PIDs: []int{1}}, {PIDs: []int{-1}}, {All: true, User: "x"}, {All: true, MaxSize: 5}, {All: true, Probes: []string{"bogus"}},
	} {
		var ue *UsageError
		res, err := Run(t.Context(), o)
		if !errors.As(err, &ue) || ExitStatus(res, err) != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
