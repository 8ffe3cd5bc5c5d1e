package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
	"github.com/gpurec/gpurec/record/live"
)

// recorder is a recorder process under test.
type recorder struct {
	t      *testing.T
	cmd    *exec.Cmd
	log    string
	stdout bytes.Buffer
	stderr lockedBuffer
}

// startRecorder runs the recorder of spec; its Output is set if it is empty.
func startRecorder(t *testing.T, spec recorderSpec) *recorder {
	t.Helper()
	if spec.Output == "" {
		spec.Output = filepath.Join(t.TempDir(), "run.gpurec")
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, log: spec.Output}
	r.cmd = exec.Command("/proc/self/exe")
	r.cmd.Env = append(os.Environ(), recorderEnv+"="+string(text))
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = 100 * time.Millisecond // a command that runs on keeps standard error open
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() })
	return r
}

// wait returns the recorder's exit status as a shell gives it.
func (r *recorder) wait() int {
	r.t.Helper()
	done := make(chan struct{})
	go func() { r.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		r.t.Fatalf("the recorder does not end; it said:\n%s", r.stderr.String())
	}
	ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// readFile waits for a file that the command writes whole, and returns it.
func waitFile(t *testing.T, path string) string {
	t.Helper()
	for range 1000 {
		if b, err := os.ReadFile(path); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			return strings.TrimSpace(string(b))
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s was never written", path)
	return ""
}

// logged is a log read back.
type logged struct {
	meta   event.Meta
	events []event.Event
	cut    bool
}

func readLog(t *testing.T, path string) logged {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readLogFrom(t, f)
}

func readLogFrom(t *testing.T, in io.Reader) logged {
	t.Helper()
	r, err := gpulog.NewReader(in, gpulog.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var l logged
	var b event.Batch
	for {
		err := r.Next(&b)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("log: %v", err)
		}
		if err != nil {
			break
		}
		l.events = append(l.events, b.Events...)
	}
	l.meta, l.cut = *r.Meta(), r.Truncated() != nil
	return l
}

func (l *logged) count(k event.Kind) (n int) {
	for i := range l.events {
		if l.events[i].Kind == k {
			n++
		}
	}
	return n
}

// checkMarks holds the marks of a fake source against their numbers: all of
// 1…n in order, but for those that losses name at the end.
func (l *logged) checkMarks(t *testing.T) int {
	t.Helper()
	n := 0
	for i := range l.events {
		if e := &l.events[i]; e.Kind == event.KindMark {
			n++
			if want := fmt.Sprintf("mark %d", n); e.Str(event.FieldName) != want {
				t.Fatalf("mark %q where %q belongs", e.Str(event.FieldName), want)
			}
		}
	}
	return n
}

// lockedBuffer is a buffer that is read while a process writes to it.
type lockedBuffer struct {
	mu  chan struct{}
	buf bytes.Buffer
}

func (b *lockedBuffer) lock() func() {
	if b.mu == nil {
		b.mu = make(chan struct{}, 1)
	}
	b.mu <- struct{}{}
	return func() { <-b.mu }
}

func (b *lockedBuffer) Write(p []byte) (int, error) { defer b.lock()(); return b.buf.Write(p) }
func (b *lockedBuffer) String() string              { defer b.lock()(); return b.buf.String() }

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

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

func TestSignals(t *testing.T) {
	// The command counts what reaches it: each line of the file is one signal.
	counting := func(file string) []string {
		return sh(`trap 'echo INT >> ` + file + `' INT; trap 'echo TERM >> ` + file + `; exit 5' TERM; trap 'echo USR1 >> ` + file + `' USR1; ` +
			`echo ready > ` + file + `; while :; do sleep 0.05; done`)
	}
	t.Run("to the recorder only", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "got")
		r := startRecorder(t, recorderSpec{Command: counting(file), Fake: true})
		waitFile(t, file)
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGUSR1, syscall.SIGTERM} {
			syscall.Kill(r.cmd.Process.Pid, s)
			waitLine(t, file, strings.TrimPrefix(unix.SignalName(s), "SIG"))
		}
		if got := r.wait(); got != 5 {
			t.Errorf("status %d, want 5", got)
		}
		if got := waitFile(t, file); got != "ready\nINT\nUSR1\nTERM" {
			t.Errorf("the command got %q", got)
		}
	})
	t.Run("to the group, as a terminal does", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "got")
		r := startRecorder(t, recorderSpec{Command: counting(file), Fake: true})
		waitFile(t, file)
		syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT)
		waitLine(t, file, "INT")
		time.Sleep(2 * groupWait) // a second one would come now
		syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM)
		if got := r.wait(); got != 5 {
			t.Errorf("status %d, want 5", got)
		}
		if got := waitFile(t, file); got != "ready\nINT\nTERM" {
			t.Errorf("the command got %q: each signal once", got)
		}
		if l := readLog(t, r.log); l.cut || l.meta.ExitStatus.V != 5 {
			t.Errorf("log: cut %v, status %v", l.cut, l.meta.ExitStatus)
		}
	})
	t.Run("a command that ignores SIGTERM", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "pid")
		r := startRecorder(t, recorderSpec{Command: sh(`trap '' TERM; echo $$ > ` + file + `; while :; do sleep 0.05; done`), Fake: true, Grace: 300 * time.Millisecond})
		pid, _ := strconv.Atoi(waitFile(t, file))
		defer syscall.Kill(pid, syscall.SIGKILL)
		r.cmd.Process.Signal(syscall.SIGTERM)
		if got := r.wait(); got != 143 {
			t.Errorf("status %d, want 143", got)
		}
		if st, err := processState(pid); err != nil || st == 'T' {
			t.Errorf("the command is in state %c, %v: it should run on", st, err)
		}
		if l := readLog(t, r.log); l.cut || l.meta.ExitStatus.OK {
			t.Errorf("log: cut %v, status %v: the command has none yet", l.cut, l.meta.ExitStatus)
		}
	})
}

func waitLine(t *testing.T, file, line string) {
	t.Helper()
	for range 500 {
		if strings.HasSuffix(waitFile(t, file), line) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the command never got %s: %q", line, waitFile(t, file))
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

func TestDurationLetsTheCommandRunOn(t *testing.T) {
	slow(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "end")
	r := startRecorder(t, recorderSpec{Command: sh(`sleep 1; echo end > ` + file + `; exit 4`), Fake: true, Duration: 200 * time.Millisecond})
	if got := r.wait(); got != 4 {
		t.Errorf("status %d, want 4", got)
	}
	if waitFile(t, file) != "end" {
		t.Error("the command did not end by itself")
	}
	if l := readLog(t, r.log); l.cut || l.meta.ExitStatus.OK {
		t.Errorf("log: cut %v, status %v", l.cut, l.meta.ExitStatus)
	}
	if !strings.Contains(r.stderr.String(), EndDuration) {
		t.Errorf("it said %s", r.stderr.String())
	}
}

func TestMaxSize(t *testing.T) {
	slow(t)
	t.Parallel()
	const limit = 1 << 20
	r := startRecorder(t, recorderSpec{Command: sh(`sleep 1; exit 6`), Fake: true, Burst: 2000, MaxSize: limit})
	if got := r.wait(); got != 6 {
		t.Errorf("status %d, want 6; it said:\n%s", got, r.stderr.String())
	}
	if !strings.Contains(r.stderr.String(), EndSize) {
		t.Errorf("it said %s", r.stderr.String())
	}
	st, err := os.Stat(r.log)
	if err != nil || st.Size() > limit || st.Size() < limit/2 {
		t.Errorf("size %d of at most %d, %v", st.Size(), limit, err)
	}
	checkFull(t, readLog(t, r.log))
}

// checkFull holds a log that became full against its source's own count.
func checkFull(t *testing.T, l logged) {
	t.Helper()
	written, lost := l.checkMarks(t), 0
	for i := range l.events {
		if n, ok := l.events[i].Uint(event.FieldCount); ok && l.events[i].Kind == event.KindLoss {
			lost += int(n)
		}
	}
	if len(l.meta.Probes) != 1 || uint64(written+lost) != l.meta.Probes[0].Hits {
		t.Errorf("%d written + %d lost, but produced were %+v", written, lost, l.meta.Probes)
	}
	if l.cut {
		t.Error("the log has no end")
	}
}

func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	slow(t)
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("gpurec-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	r := startRecorder(t, recorderSpec{Command: sh(`sleep 2; exit 6`), Fake: true, Burst: 2000, Output: filepath.Join(dir, "run.gpurec")})
	if got := r.wait(); got != 6 {
		t.Errorf("status %d, want 6", got)
	}
	if !strings.Contains(r.stderr.String(), EndDisk) {
		t.Errorf("it said %s", r.stderr.String())
	}
	checkFull(t, readLog(t, r.log))
	var fs unix.Statfs_t
	st, _ := os.Stat(r.log)
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if used := int64(fs.Blocks-fs.Bfree) * fs.Bsize; used > st.Size()+1<<16 {
		t.Errorf("%d bytes in use for a log of %d: the reserve was not given back", used, st.Size())
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
	run := func(srcs ...*fakeSource) (*Result, error, []string) {
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
		return res, err, warned
	}
	cannot := errors.New("no such thing here")
	t.Run("one of two cannot be attached", func(t *testing.T) {
		res, err, warned := run(&fakeSource{fail: cannot}, &fakeSource{})
		if err != nil || res.Err != nil || res.Status != 0 || len(warned) != 1 || warned[0] != "fake: no such thing here" {
			t.Errorf("%v, %v, warned %q", res, err, warned)
		}
		if l := readLog(t, res.File); len(l.meta.Probes) != 2 {
			t.Errorf("probes %+v: the failed source's should be there", l.meta.Probes)
		}
	})
	t.Run("none can be attached", func(t *testing.T) {
		res, err, warned := run(&fakeSource{fail: cannot})
		if !errors.Is(err, cannot) || ExitStatus(res, err) != 125 || len(warned) > 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, %v, warned %q", res, err, warned)
		}
	})
	t.Run("one breaks on the way", func(t *testing.T) {
		broken, sound := &fakeSource{breakAt: 3}, &fakeSource{}
		res, err, _ := run(broken, sound)
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
		{Result{File: "run.gpurec", Size: 12_345_678, Events: 1234567, End: EndCommand}, "run.gpurec: 12 MB, 1,234,567 events, 0 lost; next: gpurec report run.gpurec"},
		{Result{File: "it's", Size: 999, Events: 1, Lost: 1000, End: EndSize}, `it's: 999 B, 1 events, 1,000 lost, ended early: size limit reached; next: gpurec report 'it'\''s'`},
		{Result{File: "-", Size: 12_345, End: EndDisk, Err: errors.New("write -: no space")}, "standard output: 12 kB, 0 events, 0 lost, not whole: write -: no space"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, o := range []Options{
		{}, {All: true, PIDs: []int{1}}, {All: true, Command: []string{"x"}}, {PIDs: []int{-1}}, {All: true, User: "x"}, {All: true, MaxSize: 5}, {All: true, Probes: []string{"bogus"}},
	} {
		var ue *UsageError
		res, err := Run(t.Context(), o)
		if !errors.As(err, &ue) || ExitStatus(res, err) != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
