// Package record is a recording session: it starts or finds the processes to
// record, attaches live sources, writes what they give to a log, accounts for
// every loss, and leaves the machine as it was.
package record

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

// Options say what to record: Command, PIDs or All. With PIDs or All a Command
// only says how long: it is run, and its end ends the recording, as with perf;
// it is recorded itself if All is.
type Options struct {
	// Command is a program and its arguments. It is started stopped, recorded
	// from its first instruction, and its end ends the recording.
	Command []string
	// PIDs are running processes to record, with the children they have and get.
	PIDs []int
	// All records every process of the system.
	All bool
	// User runs Command as this user (a name or a number), with its groups,
	// HOME, USER, LOGNAME and SHELL. "" runs it as the caller of this process.
	User string

	// Output is the log's path, or "-" for Stdout. An existing plain file is
	// renamed to Output + ".old". "" is [DefaultOutput].
	Output string
	// Stdout receives the log if Output is "-"; the command then writes its
	// own standard output to standard error. nil is os.Stdout.
	Stdout *os.File

	// Duration ends the recording (not the command) after so long; 0 never.
	Duration time.Duration
	// MaxSize ends the recording (not the command) before the log exceeds so
	// many bytes; 0 never. Logs of less than 1 MiB cannot be asked for.
	MaxSize int64

	// Probes are the groups of BPF probes to use; nil is all that can be had,
	// an empty slice none. One named here that cannot be had is an error.
	Probes []string
	// Events are tracepoints to record through ftrace: "system:event",
	// "system:*", "event", with globs. One that does not exist is an error.
	Events []string
	// EventsOfTarget limits Events to those raised by the recorded processes.
	// Events raised by others on their behalf (kernel threads, interrupts: all
	// that gpu_scheduler and dma_fence tell of execution) are then not seen.
	EventsOfTarget bool
	// RingBytes is the size of the BPF ring buffer; 0 is the source's default.
	RingBytes int
	// FtraceKB is the size of the ftrace buffer of each CPU in KiB; 0 is the default.
	FtraceKB int
	// Libraries are files to probe beside the GPU libraries that are found by
	// name: programs with a static CUDA runtime.
	Libraries []string
	// EntryOnly records calls that only enqueue work at their entry alone:
	// cheaper, without duration and result.
	EntryOnly bool
	// RunTime has the kernel measure the run time of each BPF program: two
	// clock readings a run, for every BPF program of the machine.
	RunTime bool
	// NoStop forbids stopping processes for the moment it takes to attach to a
	// library that they have just loaded.
	NoStop bool

	// ToolVersion goes into the log.
	ToolVersion string
	// Grace is how long a command may go on after SIGTERM was forwarded to it
	// before the recording ends without it; 0 is 5 seconds.
	Grace time.Duration
	// Warn is given one line for each thing that is not as asked; nil drops them.
	Warn func(string)

	// Sources builds the live sources for a target. nil is the standard set.
	Sources func(Target) ([]live.Source, error)
}

// DefaultOutput is where a recording goes if nothing else is said.
const DefaultOutput = "run.gpurec"

// Target is what sources are to record.
type Target struct {
	PIDs []int // these and the children that they have and get
	All  bool  // everything; PIDs is empty
	// Command says that the only pid is a command that has not run yet: it is
	// blocked before its execve.
	Command bool
}

// Why a recording ended.
const (
	EndCommand  = "command ended"
	EndDuration = "duration reached"
	EndSize     = "size limit reached"
	EndSignal   = "interrupted"
	EndTargets  = "all recorded processes ended"
	EndDisk     = "disk full"
	EndOutput   = "output failed"
	EndSource   = "source failed"
)

// Result tells how a recording went.
type Result struct {
	File   string // the log, "-" for standard output
	Size   int64  // bytes
	Events uint64 // in the log
	Lost   uint64 // events that were recorded nowhere
	End    string // one of the End constants
	Status int    // of the command as a shell gives it; without one 0, or 125 if the recording failed
	Signal int    // signal that ended this process's recording (-p, -a, SIGTERM), else 0
	Wall   time.Duration
	Err    error // why End is EndDisk, EndOutput or EndSource
}

// String is the one line for people: file, size, events, losses, next command.
func (r *Result) String() string {
	var b strings.Builder
	name := r.File
	if name == "-" {
		name = "standard output"
	}
	fmt.Fprintf(&b, "%s: %s, %s events, %s lost", name, event.SizeText(r.Size), countText(r.Events), countText(r.Lost))
	switch {
	case r.End == EndSize:
		fmt.Fprintf(&b, ", ended early: %s", r.End)
	case r.Err != nil:
		fmt.Fprintf(&b, ", not whole: %v", r.Err)
	}
	if r.File != "-" {
		fmt.Fprintf(&b, "; next: gpurec report %s", shellQuote(r.File))
	}
	return b.String()
}

// CommandError is a command that could not be started.
type CommandError struct {
	Name   string
	Status int // 127: not found; 126: found but cannot be executed
	Err    error
}

func (e *CommandError) Error() string { return fmt.Sprintf("run %s: %v", shellQuote(e.Name), e.Err) }

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// UsageError is a wrong set of options.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// ExitStatus is the status that `gpurec record` ends with after Run: the
// command's, 126 or 127 as a shell gives it, 2 for wrong usage, 125 when the
// recording itself failed.
func ExitStatus(r *Result, err error) int {
	var ce *CommandError
	var ue *UsageError
	switch {
	case errors.As(err, &ce):
		return ce.Status
	case errors.As(err, &ue):
		return 2
	case err != nil || r == nil:
		return 125
	}
	return r.Status
}

// countText writes n with a comma between each three digits.
func countText(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r == '+' || r == ',' || r == '@' || r == ':' || r == '=' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// outputName is the log's name for people and results.
func (o *Options) outputName() string {
	switch {
	case o.Output == "":
		return DefaultOutput
	case isStdout(o.Output):
		return "-"
	}
	return o.Output
}
