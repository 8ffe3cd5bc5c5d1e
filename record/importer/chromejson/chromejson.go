// Package chromejson imports trace-event JSON as Chrome and many tools write
// it, and the flavour of it that PyTorch's Kineto writes.
//
// A file is an array of events, or an object whose member "traceEvents" is
// that array; other members stand before and after it. It is read once, from
// front to back:
//
//  1. window holds a piece of the file; what does not fit is read again from
//     its beginning after the window has moved or grown.
//  2. lexer checks JSON and finds the ends of values, without making any.
//  3. record holds the members of one event as places in the window.
//  4. The mapper makes of it one event or several, by phase and category.
//
// Damage costs the event in which it stands: reading goes on at the next
// object that looks like an event, and the damage is counted with its place.
//
// Times are microseconds with decimals and become nanoseconds without ever
// being a float. They keep the zero of the file: where the file names its base
// ("baseTimeNanoseconds") that is the fact [FactBase], wherever it stands.
package chromejson

import (
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
)

// FactBase is the key of the fact that holds what is to be added to every
// time of the file, in ns, for CLOCK_REALTIME.
const FactBase = "realtime_base_ns"

// ClockKineto is the clock of files whose times count from FactBase.
const ClockKineto event.Clock = "kineto"

// Format returns the format of trace-event JSON that is not Kineto's.
func Format() importer.Format {
	return importer.Format{
		Name:  "chrome-json",
		Title: "Chrome trace-event JSON (array or object)",
		Sniff: func(head []byte) bool { return sniff(head) == flavourChrome },
		Open:  open,
	}
}

// Kineto returns the format of PyTorch profiler traces. It is read by the same
// reader: the two differ in what they claim, and in the name they go by.
func Kineto() importer.Format {
	return importer.Format{
		Name:  "kineto",
		Title: "PyTorch Kineto JSON",
		Sniff: func(head []byte) bool { return sniff(head) == flavourKineto },
		Open:  open,
	}
}

func open(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := newReader(in.R, in.Name)
	r.told = o.Clock
	r.m.arena.rewinds = o.Passing
	return r, nil
}
