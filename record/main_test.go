package record

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpurec/gpurec/record/clock"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// The test binary stands in for gpurec: it runs as the helpers of a session,
// and, told so by an environment variable, as the recorder itself.
const recorderEnv = "GPUREC_TEST_RECORDER"

func TestMain(m *testing.M) {
	RunHelper()
	if spec := os.Getenv(recorderEnv); spec == "" && os.Getenv(callerEnv) != "" {
		os.Exit(callerMain(os.Getenv(callerEnv)))
	}
	if spec := os.Getenv(recorderEnv); spec != "" {
		os.Unsetenv(recorderEnv)
		os.Exit(recorderMain(spec))
	}
	os.Exit(m.Run())
}

// recorderSpec is what a test asks of a recorder process.
type recorderSpec struct {
	Command, Probes, Events []string
	PIDs                    []int
	All                     bool
	User, Output            string
	Duration, Grace         time.Duration
	MaxSize                 int64
	FtraceKB                int
	EventsOfTarget          bool
	Fake                    bool // record with a fake source
	Burst                   int  // its events per read
}

func (s *recorderSpec) options() Options {
	return Options{
		Command: s.Command, Probes: s.Probes, Events: s.Events, PIDs: s.PIDs, All: s.All,
		User: s.User, Output: s.Output, Duration: s.Duration, Grace: s.Grace, MaxSize: s.MaxSize,
		FtraceKB: s.FtraceKB, EventsOfTarget: s.EventsOfTarget, ToolVersion: "test",
	}
}

func recorderMain(text string) int {
	var spec recorderSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	o := spec.options()
	o.Warn = func(s string) { fmt.Fprintln(os.Stderr, "warning:", s) }
	if spec.Fake {
		o.Sources = func(Target) ([]live.Source, error) { return []live.Source{&fakeSource{burst: spec.Burst}}, nil }
	}
	res, err := Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	} else {
		fmt.Fprintf(os.Stderr, "result: %s\n%s\n", res.End, res)
	}
	return ExitStatus(res, err)
}

// fakeSource makes a mark with a number each time it is read, and more on
// demand; it knows what it gave.
type fakeSource struct {
	gave    atomic.Uint64
	burst   int // events per read, 0: 1
	stopped atomic.Bool
	closed  atomic.Int32
	fail    error // returned by Attach
	breakAt uint64
}

func (f *fakeSource) Name() string  { return "fake" }
func (f *fakeSource) Attach() error { return f.fail }
func (f *fakeSource) Stop() error   { f.stopped.Store(true); return nil }
func (f *fakeSource) Close() error  { f.closed.Add(1); return nil }

func (f *fakeSource) Read(b *event.Batch, wait time.Duration) error {
	b.Reset()
	last := f.stopped.Load()
	for range max(f.burst, 1) {
		n := f.gave.Add(1)
		e := b.Add(event.KindMark, clock.Boottime())
		e.SetStr(event.FieldName, fmt.Sprintf("mark %d", n))
		if f.burst > 0 { // something that does not compress, to fill a disk
			h := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, n))
			e.SetStr(event.FieldArgs, string(h[:]))
		}
		if f.breakAt > 0 && n >= f.breakAt {
			return io.ErrUnexpectedEOF
		}
	}
	if last {
		return io.EOF
	}
	if f.burst == 0 {
		time.Sleep(wait)
	}
	return nil
}

func (f *fakeSource) Probes() []event.Probe {
	return []event.Probe{{Name: "marks", Mechanism: "fake", State: "attached", Hits: f.gave.Load()}}
}
