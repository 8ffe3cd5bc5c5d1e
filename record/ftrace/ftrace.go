// Package ftrace knows the kernel's trace events: their format files, the
// pages of the ring buffer, and how a tracepoint's fields become an event.
//
// One table (see [tracepoint]) says what each tracepoint means; it serves the
// binary path ([Decoder]: pages of trace_pipe_raw, records of trace.dat) and
// the text path ([TextMapper]: trace, trace_pipe, trace-cmd report), so that
// both give the same events. A tracepoint that is not in the table becomes
// [event.KindOther] with its name and all of its fields.
package ftrace
