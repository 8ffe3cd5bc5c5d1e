package picture

import (
	"math"
	"unsafe"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/record/event"
)

// What is held besides the sorted rows, because order alone does not bring it
// together. In memory: processes, threads, devices and rings. In pages, of which
// few are in memory: per API call, ioctl, wait and activity its times (16
// bytes); per job 80 bytes; per link 40 bytes, its arrow included; texts and
// grids beyond those that are kept in memory.

const never = math.MinInt64 // no time

// farthest is how far from 0 a time may lie: formats count from 0 or from the
// first time, in 63 bits.
const farthest = 1<<62 - 1

func timeOf(t correlate.OptTime) int64 {
	if !t.OK || !t.V.Known() || isFar(int64(t.V)) {
		return never
	}
	return int64(t.V)
}

func isFar(t int64) bool { return t > farthest || t < -farthest }

// slot is a kind of slice that flows touch.
type slot uint8

const (
	slotAPI slot = iota
	slotIoctl
	slotIoctlWoken
	slotQueued
	slotRunning
	slotWait
	slotWoken
	slotActivity
	numSlots
)

// model is what is known of the trace.
type model struct {
	procs    map[procKey]*Process
	procList []*Process // in order of coming
	threads  []*Thread  // in order of coming
	cache    [256]threadSlot
	devices  map[correlate.ID]*Device
	rings    map[ringKey]*ring
	ringList []*ring   // in order of coming
	lastRing [64]*ring // found before
	lastDev  [16]*Device

	pages      pages
	jobs       table[jobInfo]
	deps       list[dep]
	apis       table[span]
	ioctls     table[span]
	ioctlWake  table[int64]
	waits      table[waitInfo]
	activities table[span]

	links      list[link]
	linkEnds   [numTabs]table[ends]
	twins      [numTabs]table[twin]
	twinned    bool     // there are twins
	rowLinks   rowLinks // reused
	flows      uint32
	ioctlsWait bool // some ioctl waits for a job
	words      []string
	wordIDs    map[string]uint8
	wordCache  [64]recentWord
	reasons    [numTabs]table[uint8] // unmatched_reason, index in words

	symbols  symbols
	dimsList list[dims]
	sizes    [256]dimsSlot
	cmds     [64]cmdSlot
	buf      []byte

	clip     clip
	min, max int64 // of the times of all rows
	counters event.Counters
}

// see widens the range of the trace.
func (m *model) see(start, end int64) {
	if m.min == never || start < m.min {
		m.min = start
	}
	if end == forever {
		end = start
	}
	m.max = max(m.max, end)
}

type procKey struct {
	id  correlate.ID
	pid int64
}

type ringKey struct {
	device correlate.ID
	name   string
}

func newModel(budget int64, dir string) *model {
	m := &model{
		pages: pages{budget: budget, dir: dir, least: leastPages},
		procs: map[procKey]*Process{}, devices: map[correlate.ID]*Device{}, rings: map[ringKey]*ring{},
		clip: clip{math.MinInt64, math.MaxInt64},
		min:  never, max: never, words: []string{""}, wordIDs: map[string]uint8{"": 0},
	}
	m.jobs.init(&m.pages)
	m.deps.init(&m.pages)
	m.apis.init(&m.pages)
	m.ioctls.init(&m.pages)
	m.ioctlWake.init(&m.pages)
	m.waits.init(&m.pages)
	m.activities.init(&m.pages)
	m.links.init(&m.pages)
	for i := range m.linkEnds {
		m.linkEnds[i].init(&m.pages)
		m.twins[i].init(&m.pages)
		m.reasons[i].init(&m.pages)
	}
	m.symbols.init(&m.pages)
	m.dimsList.init(&m.pages)
	return m
}

// word interns rules, confidences and reasons: a closed set of names.
func (m *model) word(s string) uint8 {
	if s == "" {
		return 0
	}
	c := &m.wordCache[addressHash(s)%uint64(len(m.wordCache))]
	if len(c.text) == len(s) && unsafe.StringData(c.text) == unsafe.StringData(s) {
		return c.n
	}
	i, ok := m.wordIDs[s]
	if !ok {
		if len(m.words) > math.MaxUint8 {
			return 0
		}
		i = uint8(len(m.words))
		m.words = append(m.words, s)
		m.wordIDs[s] = i
	}
	*c = recentWord{s, i}
	return i
}

// recentWord is a word as rows hold it, known by its address.
type recentWord struct {
	text string
	n    uint8
}

// wordOf is a word by its number.
func (m *model) wordOf(n uint8) Word { return Word{n, m.words[n]} }

// reason returns why a row lacks a partner, or "".
func (m *model) reason(t tableCode, id correlate.ID) string {
	return m.words[m.reasons[t].get(id)]
}
