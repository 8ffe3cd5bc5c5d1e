package picture

import (
	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// Pen writes a picture down in one trace format. Calls come from one
// goroutine: Start; all Switch and Waking, by CPU and then by time; then events
// in order of time, each as Begin or Instant, its parts, and Done.
//
// The parts of an event come in this order: its name, its category, Colour,
// arguments (of which one may be the dictionary of links), flows. Strings are
// any bytes: a format that takes only UTF-8 makes them so. Byte slices are
// valid during the call only.
type Pen interface {
	// Start is given what is known of the whole trace.
	Start(s *Scene)
	// Switch is a change of what a CPU runs.
	Switch(s *Switch)
	// Waking tells that a thread was woken.
	Waking(w *Waking)

	// SchedDone comes after all of them.
	SchedDone()

	// Begin starts a slice. It lies inside those of its track that are open,
	// and End will be called at its end: a format may use the one or the other.
	Begin(t *Track, start, end int64)
	// Instant starts an event without length.
	Instant(t *Track, at int64)
	// Done ends what Begin or Instant started: all its parts are told.
	Done()
	// End ends the innermost open slice of a track. An end comes before
	// everything that begins at the same time, unless the slice has no length.
	End(t *Track, at int64)
	// Count and CountReal give a counter's new value.
	Count(t *Track, at, v int64)
	CountReal(t *Track, at int64, v float64)

	// Name names the event, NameOnce by a name that hardly comes again.
	Name(s string)
	NameOnce(s []byte)
	// Category says what the event is; CategoryText in words of the source.
	Category(c Category)
	CategoryText(s string)
	// Colour asks that events of one text have one colour.
	Colour(s []byte)

	Int(a Arg, v int64)
	Uint(a Arg, v uint64)
	True(a Arg)
	// Str adds a text that comes often, Text one that hardly comes again. An
	// empty one is unknown and is not written.
	Str(a Arg, s string)
	Text(a Arg, s string)
	Bytes(a Arg, s []byte)
	// Pair adds a fence: "context:seqno".
	Pair(a Arg, context, seqno uint64)
	// LinksBegin, Link and LinksEnd add the dictionary [ArgLinks]: predecessor →
	// {[ArgRule], [ArgConfidence]}.
	LinksBegin()
	Link(predecessor Arg, rule, confidence Word)
	LinksEnd()
	// Flow ties the slice to an arrow: each has two ends, numbers count from 1.
	// The start of an arrow's source comes before that of its target.
	Flow(f Flow)

	// Err is the first error of writing. Nothing is drawn after it.
	Err() error
}

// Flow is one end of an arrow between slices.
type Flow struct {
	ID   uint64
	Rule Word // of the link that the arrow shows
	Into bool // the slice is the arrow's target
}

// Word is one of a small set of strings, with its number in this trace.
type Word struct {
	N    uint8
	Text string
}

// Scene is what is known of the whole trace before anything is drawn.
type Scene struct {
	Start, End int64 // of all that is drawn
	Meta       *event.Meta
	About      string // who wrote the trace, and its clock if that is not BOOTTIME
	ClockNote  string // "clock=monotonic, unaligned"; "" for BOOTTIME
	Devices    []*Device
	Processes  []*Process // in order of their rank
	Anomalies  func() []Anomaly
	Counters   *event.Counters // a pen adds what it cannot write as it is
}

// Anomaly is a counter of what is missing or doubtful.
type Anomaly correlate.AnomalyRow

// Switch is a change of what a CPU runs. Thread 0 is the idle thread.
type Switch struct {
	CPU, Time      int64
	Prev, PrevPrio int64
	PrevComm       string
	PrevState      string // letters as in /proc: "S", "D", "R+"
	Next, NextPrio int64
	NextComm       string
}

// Waking tells that a thread was woken.
type Waking struct {
	CPU, Time int64 // the CPU on which the thread then ran
	TID, Prio int64
	Comm      string
	Waker     int64 // 0 or less if it is not known
}
