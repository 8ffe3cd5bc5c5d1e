package gpulog

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/protos/gpulog"
	"github.com/gpurec/gpurec/record/event"
)

// encodeMeta returns m as it stands in a log, its snapshots apart, so that
// those can be added one by one.
func encodeMeta(m *event.Meta) (head []byte, snapshots *gpulog.Meta, err error) {
	h := m.Host
	p := &gpulog.Meta{
		Tool: []byte(m.Tool), ToolVersion: []byte(m.ToolVersion), Format: []byte(m.Format), Clock: []byte(m.Clock),
		Host: &gpulog.Host{
			Name: []byte(h.Name), Kernel: []byte(h.Kernel), Machine: []byte(h.Machine),
			BootId: []byte(h.BootID), Cpus: int64(h.CPUs),
		},
		Command: bytesOf(m.Command), Inputs: bytesOf(m.Inputs),
		Start: optTime(m.Start), End: optTime(m.End),
		Cost: &gpulog.Cost{CpuTimeNs: m.Cost.CPUTimeNS, BytesWritten: m.Cost.BytesWritten, Events: m.Cost.Events},
	}
	if m.ExitStatus.OK {
		p.ExitStatus = proto.Int64(int64(m.ExitStatus.V))
	}
	for _, x := range m.Probes {
		p.Probes = append(p.Probes, &gpulog.Probe{
			Name: []byte(x.Name), Mechanism: []byte(x.Mechanism), State: []byte(x.State), Reason: []byte(x.Reason),
			Hits: x.Hits, Misses: x.Misses, Lost: x.Lost, RunTimeNs: x.RunTimeNS,
		})
	}
	for _, a := range m.Anomalies {
		if a.AnomalySpec == nil {
			continue // says nothing
		}
		p.Anomalies = append(p.Anomalies, &gpulog.Anomaly{
			Name: []byte(a.Name), Severity: gpulog.Severity(a.Severity), Doc: []byte(a.Doc), Remedy: []byte(a.Remedy),
			Count: a.Count, Sample: []byte(a.Sample),
		})
	}
	for _, f := range m.Facts {
		p.Facts = append(p.Facts, &gpulog.Fact{Key: []byte(f.Key), Value: []byte(f.Value)})
	}
	if head, err = marshal(p); err != nil {
		return nil, nil, fmt.Errorf("metadata: %w", err)
	}
	return head, encodeSnapshots(m.Snapshots), nil
}

func encodeSnapshots(l []event.ClockSnapshot) *gpulog.Meta {
	p := &gpulog.Meta{Snapshots: make([]*gpulog.ClockSnapshot, len(l))}
	for i, s := range l {
		p.Snapshots[i] = &gpulog.ClockSnapshot{
			Boottime: int64(s.Boottime), Monotonic: int64(s.Monotonic),
			MonotonicRaw: int64(s.MonotonicRaw), Realtime: int64(s.Realtime),
		}
	}
	return p
}

// decodeMeta is the inverse of encodeMeta.
func decodeMeta(p *gpulog.Meta) event.Meta {
	m := event.Meta{
		Tool: string(p.Tool), ToolVersion: string(p.ToolVersion), Format: string(p.Format), Clock: event.Clock(p.Clock),
		Host: event.Host{
			Name: string(p.GetHost().GetName()), Kernel: string(p.GetHost().GetKernel()),
			Machine: string(p.GetHost().GetMachine()), BootID: string(p.GetHost().GetBootId()), CPUs: int(p.GetHost().GetCpus()),
		},
		Command: stringsOf(p.Command), Inputs: stringsOf(p.Inputs),
		Cost: event.Cost{
			CPUTimeNS: p.GetCost().GetCpuTimeNs(), BytesWritten: p.GetCost().GetBytesWritten(), Events: p.GetCost().GetEvents(),
		},
	}
	if p.ExitStatus != nil {
		m.ExitStatus = event.Some(int(*p.ExitStatus))
	}
	if p.Start != nil {
		m.Start = event.Some(event.Time(*p.Start))
	}
	if p.End != nil {
		m.End = event.Some(event.Time(*p.End))
	}
	for _, x := range p.Probes {
		m.Probes = append(m.Probes, event.Probe{
			Name: string(x.Name), Mechanism: string(x.Mechanism), State: string(x.State), Reason: string(x.Reason),
			Hits: x.Hits, Misses: x.Misses, Lost: x.Lost, RunTimeNS: x.RunTimeNs,
		})
	}
	for _, a := range p.Anomalies {
		m.Anomalies = append(m.Anomalies, event.Anomaly{
			AnomalySpec: &event.AnomalySpec{
				Name: string(a.Name), Severity: event.Severity(a.Severity), Doc: string(a.Doc), Remedy: string(a.Remedy),
			},
			Count: a.Count, Sample: string(a.Sample),
		})
	}
	for _, f := range p.Facts {
		m.Facts = append(m.Facts, event.Fact{Key: string(f.Key), Value: string(f.Value)})
	}
	for _, s := range p.Snapshots {
		m.Snapshots = append(m.Snapshots, event.ClockSnapshot{
			Boottime: event.Time(s.Boottime), Monotonic: event.Time(s.Monotonic),
			MonotonicRaw: event.Time(s.MonotonicRaw), Realtime: event.Time(s.Realtime),
		})
	}
	return m
}

func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func bytesOf(l []string) (out [][]byte) {
	for _, s := range l {
		out = append(out, []byte(s))
	}
	return out
}

func stringsOf(l [][]byte) (out []string) {
	for _, s := range l {
		out = append(out, string(s))
	}
	return out
}

func optTime(t event.Opt[event.Time]) *int64 {
	if !t.OK {
		return nil
	}
	return proto.Int64(int64(t.V))
}

// The head of a metadata block's body: number of the copy (4 bytes), whether
// it is whole or an addition to the copy before, this part, the number of parts, 0.
const (
	metaHeadSize = 8
	metaWhole    = 0
	metaAddition = 1
)

// metaWriter decides how metadata is written: whole, or as the snapshots that
// came since.
type metaWriter struct {
	copy      uint32
	head      []byte // of the last whole copy
	snapshots int    // written since, and in it
}

// bodies returns the bodies of the blocks that bring m into the log.
func (w *metaWriter) bodies(m *event.Meta, whole bool) ([][]byte, error) {
	head, snaps, err := encodeMeta(m)
	if err != nil {
		return nil, err
	}
	mode := byte(metaWhole)
	if !whole && w.copy > 0 && bytes.Equal(head, w.head) && len(m.Snapshots) >= w.snapshots {
		if len(m.Snapshots) == w.snapshots {
			return nil, nil
		}
		mode = metaAddition
		snaps.Snapshots = snaps.Snapshots[w.snapshots:]
	}
	tail, err := marshal(snaps)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	all := tail
	if mode == metaWhole {
		all = append(head[:len(head):len(head)], tail...)
	}
	const room = MaxBody - metaHeadSize
	parts := max(1, (len(all)+room-1)/room)
	if parts > MaxMetaParts {
		return nil, fmt.Errorf("metadata takes %s, more than the %s that a log can hold; leave out probes or snapshots", event.SizeText(len(all)), event.SizeText(MaxMetaParts*room))
	}
	w.copy++
	w.head, w.snapshots = head, len(m.Snapshots)
	var out [][]byte
	for i := range parts {
		c := w.copy
		b := []byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24), mode, byte(i), byte(parts), 0}
		n := min(room, len(all))
		out = append(out, append(b, all[:n]...))
		all = all[n:]
	}
	return out, nil
}

// metaReader puts metadata together again.
type metaReader struct {
	cur   *gpulog.Meta
	copy  uint32 // being gathered
	parts int    // gathered so far; 0: none
	body  []byte
}

// add takes a metadata block. It reports whether cur changed, and false for ok
// if the block does not complete, or not continue, a copy.
func (r *metaReader) add(body []byte) (changed, ok bool) {
	if len(body) < metaHeadSize {
		r.parts = 0
		return false, false
	}
	n := uint32(body[0]) | uint32(body[1])<<8 | uint32(body[2])<<16 | uint32(body[3])<<24
	mode, part, parts := body[4], int(body[5]), int(body[6])
	ok = true
	if part == 0 {
		ok = r.parts == 0 // else the copy before was not complete
		r.copy, r.parts, r.body = n, 0, r.body[:0]
	}
	if part != r.parts || n != r.copy || part >= parts || parts > MaxMetaParts {
		r.parts = 0
		return false, false
	}
	r.body = append(r.body, body[metaHeadSize:]...)
	if r.parts++; r.parts < parts {
		return false, ok
	}
	r.parts = 0
	p := new(gpulog.Meta)
	if err := proto.Unmarshal(r.body, p); err != nil {
		return false, false
	}
	if mode == metaAddition && r.cur != nil {
		proto.Merge(r.cur, p)
	} else {
		r.cur = p
	}
	return true, ok
}
