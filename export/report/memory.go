package report

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// maxLive bounds the mappings and allocations that are followed.
const maxLive = 1 << 20

// Where a mapping was seen.
const (
	fromMaps  = "mem_maps"
	fromCalls = "api_calls"
)

type ownerKey struct {
	source          string
	process, device correlate.ID
}

type addressKey struct {
	ownerKey
	address uint64
}

type mapping struct {
	bytes uint64
	at    correlate.OptTime
}

// memoryAcc follows what is mapped and not unmapped. A mapping of an address
// that is mapped already replaces it.
type memoryAcc struct {
	live   map[addressKey]mapping
	owners map[ownerKey]*Memory
	capped uint64
}

func (m *memoryAcc) init() {
	m.live = map[addressKey]mapping{}
	m.owners = map[ownerKey]*Memory{}
}

// addMap takes a mapping of GPU addresses; they come in the order of time.
func (m *memoryAcc) addMap(r *correlate.MemMap) {
	m.add(ownerKey{fromMaps, r.ProcessID, r.DeviceID}, r.Address, r.Bytes.V, r.TSNS, r.Op == "map")
}

// addCall takes a call that allocates or frees; calls of one address come in
// the order of time, as it is in use between them.
func (m *memoryAcc) addCall(c *correlate.APICall) {
	if c.EndKind == "returned" && !failed(c) {
		m.add(ownerKey{fromCalls, c.ProcessID, 0}, c.Address, c.Bytes.V, c.EndNS, c.Class == "alloc")
	}
}

func (m *memoryAcc) add(o ownerKey, address correlate.OptUint, bytes uint64, at correlate.OptTime, maps bool) {
	x := get(&m.capped, m.owners, o, ownerKey{source: o.source}, func(o ownerKey) *Memory {
		return &Memory{Source: o.source, ProcessID: idPtr(o.process), DeviceID: idPtr(o.device)}
	})
	if maps {
		x.Maps++
	} else {
		x.Unmaps++
	}
	if !address.OK || address.V == 0 {
		return
	}
	k := addressKey{o, address.V}
	if !maps {
		delete(m.live, k)
		return
	}
	if _, ok := m.live[k]; !ok && len(m.live) >= maxLive {
		x.Approx = true
		return
	}
	m.live[k] = mapping{bytes, at}
}

func (m *memoryAcc) rows(b *Builder) []Memory {
	for k, v := range m.live {
		x := m.owners[k.ownerKey]
		if x == nil {
			x = m.owners[ownerKey{source: k.source}]
		}
		x.Live++
		x.LiveBytes += v.bytes
		x.firstLive = earlier(x.firstLive, v.at)
	}
	var out []Memory
	for _, x := range m.owners {
		_, x.PID, x.Process = b.process(id(x.ProcessID))
		out = append(out, *x)
	}
	slices.SortFunc(out, func(x, y Memory) int {
		return cmp.Or(cmp.Compare(y.LiveBytes, x.LiveBytes), cmp.Compare(y.Maps, x.Maps), cmp.Compare(x.Source, y.Source),
			cmp.Compare(id(x.ProcessID), id(y.ProcessID)), cmp.Compare(id(x.DeviceID), id(y.DeviceID)))
	})
	return out
}
