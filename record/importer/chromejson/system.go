package chromejson

import (
	"bytes"
	"errors"
	"io"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

const maxSystemLine = 64 << 10

// systemTrace reads ftrace text that stands as one JSON text in the file.
type systemTrace struct {
	r      *reader
	mapper *ftrace.TextMapper
	line   []byte
	esc    []byte // an escape that is not whole yet
	lines  uint64
	events uint64
}

func (s *systemTrace) init(r *reader) { s.r = r }

// read takes what is in the window: lines, and the end of the text.
func (s *systemTrace) read(b *event.Batch) {
	w := &s.r.win
	for w.pos < w.end && len(b.Events) < event.DefaultBatch {
		c := w.buf[w.pos]
		if c == '"' {
			w.pos++
			s.emit(b)
			s.r.place = placeObject
			return
		}
		if c != '\\' {
			n := bytes.IndexAny(w.buf[w.pos:w.end], `"\`)
			if n < 0 {
				n = w.end - w.pos
			}
			s.add(w.buf[w.pos : w.pos+n])
			w.pos += n
			continue
		}
		n := 2
		if w.pos+1 < w.end && w.buf[w.pos+1] == 'u' {
			n = 6
		}
		if w.pos+n > w.end {
			break
		}
		if w.buf[w.pos+1] == 'n' {
			s.r.at = w.offset(w.pos)
			s.emit(b)
		} else {
			s.esc, _ = unquote(s.esc[:0], w.buf[w.pos:w.pos+n])
			s.add(s.esc)
		}
		w.pos += n
	}
	if len(b.Events) >= event.DefaultBatch || w.more() {
		return
	}
	s.emit(b)
	s.r.at = w.offset(w.end)
	err := w.err
	if err == io.EOF {
		err = errors.New("ends in the middle of systemTraceEvents")
	}
	s.r.stop(err, "what is whole before it is kept; fetch or record the file again for the rest")
	s.r.close(b)
}

func (s *systemTrace) add(t []byte) {
	if room := maxSystemLine - len(s.line); len(t) > room {
		t = t[:room]
	}
	s.line = append(s.line, t...)
}

// emit maps the line gathered.
func (s *systemTrace) emit(b *event.Batch) {
	line := bytes.TrimRight(s.line, "\r \t")
	s.line = s.line[:0]
	if len(line) == 0 || line[0] == '#' {
		return
	}
	var h ftrace.Head
	text, comm, ok := systemHead(line, &h)
	if !ok {
		if s.lines > 0 || !bytes.HasPrefix(line, []byte("TRACE:")) {
			s.r.note(&AnomalySystemLine)
		}
		return
	}
	s.lines++
	if s.mapper == nil {
		s.mapper = ftrace.NewTextMapper(&s.r.count, s.r.m.where)
	}
	if len(comm) > 0 && comm[0] != '<' {
		h.Comm = s.mapper.Strings.Get(comm)
	}
	n := len(b.Events)
	s.mapper.Map(b, &h, text)
	s.events += uint64(len(b.Events) - n)
	s.r.m.span(h.Time)
}

// systemHead reads TASK-PID (TGID) [CPU] FLAGS TIME: of a line.
func systemHead(line []byte, h *ftrace.Head) (text, comm []byte, ok bool) {
	*h = ftrace.Head{Time: event.NoTime, CPU: event.NoID, PID: event.NoID, TID: event.NoID}
	open := -1
	var cpu int64
	for i := 0; i+2 < len(line); i++ {
		if line[i] != '[' {
			continue
		}
		if d := digits(line[i+1:]); d > 0 && d < 6 && i+1+d < len(line) && line[i+1+d] == ']' {
			cpu, _ = smallNumber(line[i+1 : i+1+d])
			open = i
			break
		}
	}
	if open < 0 {
		return nil, nil, false
	}
	h.CPU = int32(cpu)
	task := bytes.TrimSpace(line[:open])
	if k := bytes.LastIndexByte(task, '('); k >= 0 && bytes.HasSuffix(task, []byte(")")) {
		if n, ok := smallNumber(bytes.TrimSpace(task[k+1 : len(task)-1])); ok {
			h.PID = kernelOrIdle(n)
		}
		task = bytes.TrimSpace(task[:k])
	}
	k := bytes.LastIndexByte(task, '-')
	if k < 0 {
		return nil, nil, false
	}
	n, ok := smallNumber(task[k+1:])
	if !ok {
		return nil, nil, false
	}
	h.TID = kernelOrIdle(n)
	rest := line[open:]
	rest = rest[bytes.IndexByte(rest, ']')+1:]
	for {
		rest = bytes.TrimLeft(rest, " \t")
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			return nil, nil, false
		}
		word := rest[:end]
		rest = rest[end+1:]
		if word[len(word)-1] != ':' {
			continue
		}
		// Seconds read as if they were microseconds, a million times too small.
		sec, usec, found := bytes.Cut(word[:len(word)-1], []byte("."))
		s, ok1 := smallNumber(sec)
		u, ok2 := smallNumber(usec)
		if !found || !ok1 || !ok2 || len(usec) > 9 || s > 1<<33 {
			return nil, nil, false
		}
		for range 9 - len(usec) {
			u *= 10
		}
		h.Time = event.Time(s*1e9 + u)
		return bytes.TrimLeft(rest, " "), task[:k], true
	}
}

// kernelOrIdle returns n as a pid or tid, of which 0 is the idle loop's.
func kernelOrIdle(n int64) int32 {
	if n == 0 {
		return 0
	}
	return kernelID(n)
}
