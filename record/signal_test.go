package record

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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
