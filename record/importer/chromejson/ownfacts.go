package chromejson

import "github.com/gpurec/gpurec/record/event"

// ownFacts reads what an export says of the trace as a whole. Its anomalies and
// losses are drawn, too, and are read there.
func (r *reader) ownFacts(i int) {
	x, m := &r.lex, &r.m
	for _, a := range x.members(i) {
		text := ""
		if x.b[a.val.from] == '"' {
			text = m.text(span{a.val.from + 1, a.val.to - 1}, textEscaped)
		}
		switch key := string(x.b[a.key.from:a.key.to]); key {
		case "tool":
			r.top.add("exported_by", text)
		case "recorded_by", "read_from":
			r.top.add(key, text)
		case "host":
			m.devices.host = text
		case "kernel":
			r.meta.Host.Kernel = text
		case "machine":
			r.meta.Host.Machine = text
		case "clocks":
			r.eachObject(int(a.val.from), r.snapshot)
		}
	}
}

// maxSnapshots bounds the clock snapshots that are kept.
const maxSnapshots = 1 << 12

func (r *reader) snapshot(rec *record) {
	if len(r.meta.Snapshots) >= maxSnapshots {
		r.note(&AnomalyMemberLong)
		return
	}
	var s event.ClockSnapshot
	for key, to := range map[string]*event.Time{"boottime": &s.Boottime, "monotonic": &s.Monotonic, "monotonic_raw": &s.MonotonicRaw, "realtime": &s.Realtime} {
		if n, ok := r.m.number(rec, key); ok {
			*to = event.Time(n)
		}
	}
	r.meta.Snapshots = append(r.meta.Snapshots, s)
}
