package tracedat

import (
	"fmt"
	"math/bits"
	"sort"

	"github.com/gpurec/gpurec/record/event"
)

// times turns the times of pages into those that trace-cmd report shows.
type times struct {
	offset      int64  // OFFSET, ns
	mult, shift uint32 // TSC2NSEC; mult 0: none
	host        []sync // TIME_SHIFT, by CPU
	interpolate bool
}

// sync is how the clock of a guest's CPU relates to its host's.
type sync []syncSample

type syncSample struct {
	time, offset, scaling int64
	fraction              uint
}

// flagInterpolate is TRACECMD_TSYNC_FLAG_INTERPOLATE.
const flagInterpolate = 1

// maxSync bounds the samples of a time shift.
const maxSync = 1 << 20

// of returns the conversion for a CPU, nil if there is none.
func (t *times) of(cpu int32) func(uint64) event.Time {
	var host sync
	if cpu >= 0 && int(cpu) < len(t.host) {
		host = t.host[cpu]
	}
	if t.offset == 0 && t.mult == 0 && len(host) == 0 {
		return nil
	}
	return func(v uint64) event.Time {
		v = host.convert(v, t.interpolate)
		if t.mult != 0 {
			hi, lo := bits.Mul64(v, uint64(t.mult))
			if s := uint(t.shift); s < 64 {
				v = lo>>s | hi<<(64-s)
			} else {
				v = hi >> (s - 64)
			}
		}
		return event.Time(v) + event.Time(t.offset)
	}
}

// convert moves a time to the host's clock, as trace-cmd does: one sample is
// an offset; more are offsets and scales valid from their time on, between
// which the offset may be interpolated.
func (s sync) convert(v uint64, interpolate bool) uint64 {
	switch len(s) {
	case 0:
		return v
	case 1:
		return v + uint64(s[0].offset)
	}
	i := sort.Search(len(s), func(i int) bool { return s[i].time > int64(v) }) - 1
	i = max(min(i, len(s)-2), 0)
	a, b := &s[i], &s[i+1]
	off := a.offset
	if interpolate {
		off += scale(int64(v)-a.time, b.offset-a.offset, b.time-a.time)
	}
	hi, lo := bits.Mul64(v, uint64(a.scaling))
	if f := a.fraction; f > 0 && f < 64 {
		lo = lo>>f | hi<<(64-f)
	}
	return lo + uint64(off)
}

// scale returns x*num/den, rounded to the nearest.
func scale(x, num, den int64) int64 {
	if den <= 0 {
		return 0
	}
	neg := (x < 0) != (num < 0)
	hi, lo := bits.Mul64(mag(x), mag(num))
	lo, carry := bits.Add64(lo, uint64(den)/2, 0)
	hi += carry
	if hi >= uint64(den) {
		return 0 // beyond 64 bits: no sample of a clock is
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	if neg {
		return -int64(q)
	}
	return int64(q)
}

func mag(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// timeShift reads the option TIME_SHIFT.
func (f *file) timeShift(data []byte) {
	s := scanBytes(data, f.order)
	peer, flags, n := s.u64(), s.u32(), s.u32()
	if s.err != nil || n > maxLanes {
		f.badOption(optTimeShift, "its head")
		return
	}
	host := make([]sync, n)
	for i := range host {
		k := s.u32()
		if s.err != nil || k > maxSync || int(k) > len(data)/24 {
			f.badOption(optTimeShift, fmt.Sprintf("%d samples of CPU %d", k, i))
			return
		}
		host[i] = make(sync, k)
		for _, set := range []func(*syncSample, int64){
			func(p *syncSample, v int64) { p.time = v },
			func(p *syncSample, v int64) { p.offset = v },
			func(p *syncSample, v int64) { p.scaling = v },
		} {
			for j := range host[i] {
				set(&host[i][j], int64(s.u64()))
			}
		}
	}
	if s.err == nil && s.off < int64(len(data)) { // newer files scale by fractions
		for i := range host {
			for j := range host[i] {
				host[i][j].fraction = uint(s.u64() & 63)
			}
		}
	}
	if s.err != nil {
		f.badOption(optTimeShift, s.err.Error())
		return
	}
	for i := range host {
		host[i].tidy()
	}
	f.times.host, f.times.interpolate = host, flags&flagInterpolate != 0
	f.fact("time_shift", fmt.Sprintf("peer=%#x flags=%d cpus=%d", peer, flags, n))
}

// tidy sorts samples by time and keeps the first of equal ones.
func (s *sync) tidy() {
	l := *s
	sort.SliceStable(l, func(i, j int) bool { return l[i].time < l[j].time })
	keep := l[:0]
	for i := range l {
		if i == 0 || l[i].time != keep[len(keep)-1].time {
			keep = append(keep, l[i])
		}
	}
	*s = keep
}
