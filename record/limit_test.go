package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpurec/gpurec/record/event"
)

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
