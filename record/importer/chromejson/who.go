package chromejson

import (
	"math"
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// who is whose an event is. A thread whose number cannot be the kernel's (0,
// negative, larger than 32 bits, a text) or is another process's already is a
// track of its process; so is all of a process without such a number.
type who struct {
	pid, tid int32  // NoID if unknown or not a number of the kernel's
	track    string // where the thread is none
	pidNum   int64  // as the source gives them, 0 if they are no numbers
	tidNum   int64
	isPIDNum bool
	isTIDNum bool
	oddPID   bool // there is one, and it is not in pid
	oddTID   bool
}

const maxWho = 1 << 16

type whoKey struct{ pid, tid int64 }

// people knows the processes and threads of a file.
type people struct {
	m      *mapper
	known  map[whoKey]*who
	last   [4]*who
	owner  map[int32]int32 // tid → the pid that used it first
	scr    []byte
	single who
}

func (p *people) init(m *mapper) {
	p.m = m
	p.known = map[whoKey]*who{}
	p.owner = map[int32]int32{}
}

// get returns whose a record is. The result is valid until the next call.
func (p *people) get(r *record) *who {
	b := p.m.lex.b
	pn, pOK := smallNumber(b[r.pid.from:r.pid.to])
	tn, tOK := smallNumber(b[r.tid.from:r.tid.to])
	if !pOK || !tOK {
		return p.text(r, pn, pOK, tn, tOK)
	}
	slot := &p.last[uint64(tn)%uint64(len(p.last))]
	if w := *slot; w != nil && w.pidNum == pn && w.tidNum == tn {
		return w
	}
	k := whoKey{pn, tn}
	w := p.known[k]
	if w == nil {
		w = &who{pidNum: pn, isPIDNum: true, tidNum: tn, isTIDNum: true}
		p.number(w)
		if len(p.known) < maxWho {
			p.known[k] = w
		}
	}
	*slot = w
	return w
}

// number finds what numbers mean.
func (p *people) number(w *who) {
	w.pid, w.tid = kernelID(w.pidNum), kernelID(w.tidNum)
	w.oddPID, w.oddTID = w.pid == event.NoID, w.tid == event.NoID
	if w.pid != event.NoID && w.tid != event.NoID {
		if o, ok := p.owner[w.tid]; !ok {
			if len(p.owner) < maxWho {
				p.owner[w.tid] = w.pid
			}
		} else if o != w.pid {
			p.m.note(&AnomalySharedTID)
			w.tid, w.oddTID = event.NoID, true
		}
	}
	if w.oddPID {
		w.tid, w.oddTID = event.NoID, true
		w.track = "pid " + strconv.FormatInt(w.pidNum, 10) + " tid " + strconv.FormatInt(w.tidNum, 10)
	} else if w.oddTID {
		w.track = "tid " + strconv.FormatInt(w.tidNum, 10)
	}
}

// text finds what identities mean that are missing, or no numbers.
func (p *people) text(r *record, pn int64, pOK bool, tn int64, tOK bool) *who {
	w := &p.single
	*w = who{pid: event.NoID, tid: event.NoID, isPIDNum: pOK, isTIDNum: tOK}
	if pOK {
		w.pidNum = pn
		w.pid = kernelID(pn)
	}
	if tOK {
		w.tidNum = tn
		w.tid = kernelID(tn)
	}
	w.oddPID = w.pid == event.NoID && r.pid.kind != tokenNone
	w.oddTID = r.tid.kind != tokenNone && (w.tid == event.NoID || w.oddPID)
	if w.oddPID {
		w.tid = event.NoID
	}
	s := p.scr[:0]
	if w.oddPID {
		if pOK {
			s = append(s, "pid "...)
		}
		s = p.m.appendToken(s, &r.pid)
	}
	if w.oddTID {
		if len(s) > 0 {
			s = append(s, '/')
		}
		if tOK {
			s = append(s, "tid "...)
		}
		s = p.m.appendToken(s, &r.tid)
	}
	p.scr = s
	w.track = p.m.strings.get(s[:min(len(s), maxName)])
	return w
}

// kernelID returns n if it can be a pid or tid of the kernel's.
func kernelID(n int64) int32 {
	if n > 0 && n <= math.MaxInt32 {
		return int32(n)
	}
	return event.NoID
}

// smallNumber reads a whole number of at most 18 digits.
func smallNumber(s []byte) (n int64, ok bool) {
	if len(s) == 0 {
		return 0, false
	}
	if v, ok := shortNumber(s); ok {
		return int64(v), true
	}
	neg := s[0] == '-'
	if neg {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}
