// Package ftrace knows the kernel's trace events: their format files, the
// pages of the ring buffer, and how a tracepoint's fields become an event.
package ftrace
