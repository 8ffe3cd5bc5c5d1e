package merge

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Machines. A pid, a CPU, a fence or a pointer means something on one machine
// only, and so does a clock since boot. Most inputs do not say where they were
// recorded; those that do not contradict each other are taken for one machine's.

// machines numbers the machine of each input, from 0.
func (m *Merged) machines() {
	n := 0
	for i, s := range m.inputs {
		s.machine = -1
		for k := 0; k < n && s.machine < 0; k++ {
			if !slices.ContainsFunc(m.inputs[:i], func(o *scanned) bool { return o.machine == k && apart(s, o) }) {
				s.machine = k
			}
		}
		if s.machine < 0 {
			s.machine = n
			n++
		}
	}
}

// apart reports whether two inputs cannot be of one machine: their boots or
// hosts have different names, or they are different ranks of a job that show
// the same pid (two machines, or two pid namespaces).
func apart(a, b *scanned) bool {
	if contradict(a, b) {
		return true
	}
	if !a.rank.OK || !b.rank.OK || a.rank.V == b.rank.V {
		return false
	}
	for pid := range a.pids {
		if b.pids[pid] {
			return true
		}
	}
	return false
}

// contradict reports whether two inputs name different boots or hosts. A name
// that Docker gave a container is none of a host.
func contradict(a, b *scanned) bool {
	x, y := a.meta.Host.BootID, b.meta.Host.BootID
	if x != "" && y != "" {
		return x != y
	}
	return a.host != "" && b.host != "" && a.host != b.host && !isContainer(a.host) && !isContainer(b.host)
}

// isContainer reports whether a host's name is a container's id: 12 digits of
// base 16.
func isContainer(host string) bool {
	return len(host) == 12 && strings.Trim(host, "0123456789abcdef") == ""
}

// domains gives each machine, and each input that is not aligned, a domain of
// its own; that of the result's clock is 0.
func (m *Merged) domains() {
	of := map[int]uint64{m.target.machine: 0}
	next := uint64(1)
	for _, s := range m.inputs {
		d, ok := of[s.machine]
		if !ok || !s.way.ok {
			d = next
			next++
			if s.way.ok {
				of[s.machine] = d
			}
		}
		s.domain = d
		for _, o := range slices.Sorted(maps.Keys(s.domains)) {
			s.domains[o] = next
			next++
		}
	}
	for _, s := range m.inputs {
		s.ranks = s.rank.OK && slices.ContainsFunc(m.inputs, func(o *scanned) bool {
			return o.domain == s.domain && o.rank.OK && o.rank.V != s.rank.V
		})
	}
}

// rankDevice names a device of an input whose domain holds several ranks: only a
// PCI address means the same in all of them.
func (s *scanned) rankDevice(name string) string {
	if isPCI(name) {
		return name
	}
	return "rank " + strconv.FormatInt(s.rank.V, 10) + " " + name
}

func isPCI(s string) bool { return len(s) == 12 && s[4] == ':' && s[7] == ':' && s[10] == '.' }

// identities says of which host and rank processes and devices are, where
// inputs differ in that.
func (m *Merged) identities() {
	hosts := map[int]bool{}
	for _, s := range m.inputs {
		hosts[s.machine] = true
	}
	for _, s := range m.inputs {
		host := s.host
		if len(hosts) == 1 {
			host = ""
		}
		if host == "" && !s.rank.OK {
			continue
		}
		for _, pid := range slices.Sorted(maps.Keys(s.pids)) {
			e := s.identity(event.KindProcess, host)
			e.PID = pid
			m.first = append(m.first, e)
		}
		for _, d := range s.order {
			if _, other := s.alias[d]; other || s.devs[d] {
				continue
			}
			e := s.identity(event.KindDevice, host)
			e.SetStr(event.FieldDevice, s.deviceName(d))
			m.first = append(m.first, e)
		}
	}
}

func (s *scanned) identity(k event.Kind, host string) event.Event {
	e := event.New(k, event.NoTime)
	e.Source = "merge"
	e.SetStr(event.FieldHost, host)
	// A device with a PCI address is the machine's, not a rank's.
	if s.rank.OK && k == event.KindProcess || s.ranks {
		e.SetInt(event.FieldRank, s.rank.V)
	}
	if s.domain != 0 {
		e.SetUint(event.FieldDomain, s.domain)
	}
	return e
}
