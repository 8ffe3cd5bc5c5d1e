package main

import (
	"fmt"
	"time"

	"github.com/gpurec/gpurec/record/event"
)

// line says how far the work is, "" if nothing has begun.
func (p *progress) line(now time.Time) string {
	name := fmt.Sprintf("%d inputs", len(p.sources))
	var read, size int64
	var events uint64
	ended, sized := true, true
	for s, n := range p.sources {
		if len(p.sources) == 1 {
			name = n
		}
		r, z := s.Progress()
		e, end := s.Seen()
		read, size, events = read+r, size+z, events+e
		ended, sized = ended && end, sized && z > 0
	}
	switch {
	case len(p.sources) == 0:
		return ""
	case !ended:
		if !sized || read > size { // or it is read at places, several times
			size = 0
		}
		return p.reading(now, name, read, size, events)
	case p.next != nil && !p.next.ended.Load():
		return p.joining(now, name, p.next.what, min(p.next.done.Load(), events), events)
	}
	return fmt.Sprintf("%s: writing, %s", name, duration(now.Sub(p.stage(now, "writing"))))
}

// stage returns when a stage without a measure was first seen.
func (p *progress) stage(now time.Time, what string) time.Time {
	if n := len(p.samples); n == 0 || p.samples[0].stage != what {
		p.samples = append(p.samples[:0], sample{at: now, stage: what})
	}
	return p.samples[0].at
}

func (p *progress) reading(now time.Time, name string, read, size int64, events uint64) string {
	units, perSecond := p.rates(sample{now, name, uint64(read), events})
	line := name + ": " + event.SizeText(read)
	if read == 0 && events > 0 { // SQLite reads the file by itself
		return name + ": " + thousands(float64(events)) + " events" + perEvents(perSecond)
	}
	if size > 0 {
		line = fmt.Sprintf("%s of %s (%d %%)", line, event.SizeText(size), 100*read/size)
	}
	if units > 0 {
		line += fmt.Sprintf(", %s/s", event.SizeText(units))
	}
	line += perEvents(perSecond)
	if size > 0 && units > 0 {
		line += left(float64(size-read) / units)
	}
	return line
}

func (p *progress) joining(now time.Time, name, what string, done, of uint64) string {
	units, perSecond := p.rates(sample{now, name + what, done, done})
	line := fmt.Sprintf("%s: %s %s of %s events", name, what, thousands(float64(done)), thousands(float64(of)))
	if of > 0 {
		line += fmt.Sprintf(" (%d %%)", 100*done/of)
	}
	line += perEvents(perSecond)
	if units > 0 {
		line += left(float64(of-done) / units)
	}
	return line
}

// rates returns units and events a second of the last seconds.
func (p *progress) rates(s sample) (units, events float64) {
	if len(p.samples) > 0 && (p.samples[0].stage != s.stage || p.samples[len(p.samples)-1].units > s.units) {
		p.samples = p.samples[:0] // a new stage, or read again from the beginning
	}
	p.samples = append(p.samples, s)
	for len(p.samples) > 2 && s.at.Sub(p.samples[1].at) >= progressRate {
		p.samples = p.samples[1:]
	}
	first := p.samples[0]
	seconds := s.at.Sub(first.at).Seconds()
	if seconds <= 0 || s.events < first.events {
		return 0, 0
	}
	return float64(s.units-first.units) / seconds, float64(s.events-first.events) / seconds
}

func thousands(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f M", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f k", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

func perEvents(n float64) string {
	if n <= 0 {
		return ""
	}
	return ", " + thousands(n) + " events/s"
}

func left(seconds float64) string {
	const most = 100 * 3600
	return ", " + duration(time.Duration(min(seconds, most)*float64(time.Second))) + " left"
}

// duration prints whole seconds, rounded up.
func duration(d time.Duration) string {
	s := int64((d + time.Second - 1) / time.Second)
	switch {
	case s >= 3600:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	case s >= 60:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d s", s)
}
