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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpulog"
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
	r := prepareRecorder(t, spec)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// prepareRecorder makes a recorder that has not started yet.
func prepareRecorder(t *testing.T, spec recorderSpec) *recorder {
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
	t.Cleanup(func() {
		if r.cmd.Process != nil {
			r.cmd.Process.Kill()
		}
	})
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
