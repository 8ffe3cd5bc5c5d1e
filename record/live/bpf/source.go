package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	objects "github.com/gpurec/gpurec/bpf"
	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/live"
)

var _ live.Source = (*Source)(nil)

// The life of a Source.
type lifeState uint8

const (
	stateNew lifeState = iota
	stateRunning
	stateStopped
	stateClosed
)

// Source is the live source of BPF probes. AttachLibrary, AddProcess,
// Processes and Probes may be called from any goroutine, the methods of
// [live.Source] as its contract says.
type Source struct {
	o         Options
	functions map[string]bool // nil: all
	nop5      bool            // the kernel optimises uprobes on 5-byte nops

	mu       sync.Mutex // guards what follows, and writing to symbols
	state    lifeState
	l        *loader
	programs []*program
	libs     map[fileKey]*library
	libOrder []*library
	notes    []string // what went wrong on the way

	mode                 uprobeMode
	modeReason           string
	session, enter, exit *ebpf.Program // of programs: those for uprobes

	symbols symbols
	ring    *ring
	conv    *converter
	stats   interface{ Close() error }

	control     *ringbuf.Reader
	controlDone chan struct{}

	readMu   sync.Mutex  // the ring is being read, or unmapped; taken before mu
	stopping atomic.Bool // Stop has returned: what is in the ring is all there will be
	read     readState
}

// New returns a source that records nothing yet.
func New(o Options) *Source {
	s := &Source{o: o, libs: map[fileKey]*library{}, controlDone: make(chan struct{})}
	if o.Functions != nil {
		s.functions = map[string]bool{}
		for _, f := range o.Functions {
			s.functions[f] = true
		}
	}
	s.conv = newConverter(&s.symbols)
	return s
}

// Name is the name of the stream in losses.
func (s *Source) Name() string { return "bpf" }

// Attach loads the programs and attaches those that can be had. An error
// means that nothing is recorded, or that a required group cannot be had.
func (s *Source) Attach() (err error) {
	if err := s.o.check(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.state != stateNew {
		s.mu.Unlock()
		return errors.New("bpf: Attach is called once")
	}
	err = s.attachAll()
	if err == nil {
		s.state = stateRunning
	}
	s.mu.Unlock()
	if err == nil {
		err = s.attachTargets()
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// attachAll creates maps and attaches everything that is not a library.
func (s *Source) attachAll() error {
	kernel := kallsyms{}
	if s.o.wants(GroupFence) {
		kernel = readKallsyms("/proc/kallsyms")
	}
	l, err := newLoader(settings{
		all: s.o.All, byMagic: !s.o.OnlyDevices, stopOnLoad: !s.o.NoStop,
		fenceOps: kernel.fenceOps, ringBytes: ringBytes(s.o.RingBytes),
	})
	if err != nil {
		return err
	}
	l.mountTracefs = s.o.mountTracefs
	s.l = l
	if s.ring, err = openRing(l.maps.Maps[objects.GpurecMapEvents]); err != nil {
		return err
	}
	s.nop5 = kernelAtLeast(6, 18)
	s.conv.drivers = kernel.drivers
	s.conv.tasks = s.o.wants(GroupTask)
	devices := newSysDevices("")
	s.conv.devices = devices
	if err := s.fillMaps(devices); err != nil {
		return err
	}
	if s.o.RunTime {
		// Without it run times are zero, which Probes then says nothing of.
		s.stats, _ = ebpf.EnableStats(bpfStatsRunTime)
	}
	if err := s.attachTasks(); err != nil {
		return err
	}
	if s.o.wants(GroupFence) { // the last of a job's life first: see olderSched
		s.attachList(fenceKernelProbes)
	}
	if s.o.wants(GroupSched) {
		s.attachSched()
	}
	if s.o.wants(GroupIoctl) {
		s.attachIoctl()
	}
	if s.o.wants(GroupAPI) {
		s.chooseUprobes()
	}
	return s.checkRequired()
}

// fillMaps tells the programs what to look for.
func (s *Source) fillMaps(devices *sysDevices) error {
	m := s.l.maps.Maps
	for _, major := range devices.gpuMajors() {
		if err := m[objects.GpurecMapMajors].Put(major, uint8(1)); err != nil {
			return explain("set the device majors", err)
		}
	}
	for cmd, off := range statusOffsets() {
		if err := m[objects.GpurecMapStatusOffsets].Put(cmd, off); err != nil {
			return explain("set the status offsets", err)
		}
	}
	for i, text := range libraryPrefixes() {
		p := objects.Prefix{Len: uint32(copy(make([]byte, 31), text))}
		copy(p.Text[:], text)
		if err := m[objects.GpurecMapPrefixes].Put(uint32(i), &p); err != nil {
			return explain("set the library names", err)
		}
	}
	return nil
}

// attachTargets puts the processes into scope and probes the libraries known now.
func (s *Source) attachTargets() error {
	if s.o.wants(GroupAPI) && s.mode != uprobeNone {
		if err := s.startControl(); err != nil {
			return err
		}
		if !s.o.NoSystemLibraries {
			for _, path := range systemLibraries("/etc/ld.so.cache") {
				if err := s.AttachLibrary(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					s.note(err.Error())
				}
			}
		}
		for _, path := range s.o.Libraries {
			if err := s.AttachLibrary(path); err != nil {
				return err
			}
		}
	}
	for _, pid := range s.o.PIDs {
		if err := s.AddProcess(pid); err != nil {
			return err
		}
	}
	if s.o.All && s.o.wants(GroupAPI) {
		s.scanAll()
	}
	return nil
}

// note keeps something that went wrong for Probes.
func (s *Source) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < 100 {
		s.notes = append(s.notes, text)
	}
}

// Stop detaches every probe. Calls that are still open are given by the
// Reads that follow, as entries.
func (s *Source) Stop() error {
	s.mu.Lock()
	if s.state != stateRunning {
		s.mu.Unlock()
		return nil
	}
	s.state = stateStopped
	var errs []error
	for _, lib := range s.libOrder {
		errs = append(errs, lib.detach())
	}
	for _, p := range s.programs {
		errs = append(errs, p.detach())
	}
	s.mu.Unlock()
	s.stopControl()
	waitForPrograms()
	s.mu.Lock()
	for _, p := range s.programs {
		p.sample()
	}
	s.mu.Unlock()
	s.stopping.Store(true)
	return errors.Join(errs...)
}

// Close releases everything. It can be called twice, and without Stop.
func (s *Source) Close() error {
	errs := []error{s.Stop()}
	s.stopControl()
	s.readMu.Lock() // before mu, as Read takes them
	defer s.readMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == stateClosed {
		return errors.Join(errs...)
	}
	s.state = stateClosed
	for _, p := range s.programs {
		errs = append(errs, p.close())
	}
	s.keepCounts()
	if s.ring != nil {
		errs = append(errs, s.ring.close())
	}
	if s.stats != nil {
		errs = append(errs, s.stats.Close())
	}
	s.l.close()
	s.stopping.Store(true)
	return errors.Join(errs...)
}

// checkRequired fails if a group was asked for by name and none of it is there.
func (s *Source) checkRequired() error {
	for _, g := range s.o.Require {
		ok, reason := s.have(g)
		if !ok {
			return fmt.Errorf("bpf: group %s cannot be recorded: %s", g, reason)
		}
	}
	return nil
}

// have reports whether anything of a group is attached, and why not.
func (s *Source) have(group string) (bool, string) {
	if group == GroupAPI {
		return s.mode != uprobeNone, s.modeReason
	}
	reason := "it is not asked for"
	for _, p := range s.programs {
		if groupName(p.group) != group {
			continue // of another group
		}
		if p.state == stateAttached {
			return true, ""
		}
		reason = p.reason
	}
	return false, reason
}

func groupName(g objects.Group) string {
	switch g {
	case objects.GroupAPI:
		return GroupAPI
	case objects.GroupIoctl:
		return GroupIoctl
	case objects.GroupTask:
		return GroupTask
	case objects.GroupSched:
		return GroupSched
	}
	return GroupFence
}

// Anomalies returns what went wrong while records were read. Call it after Read gave io.EOF.
func (s *Source) Anomalies() []event.Anomaly {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all event.Counters
	all.Merge(&s.conv.anomalies)
	for _, p := range s.programs {
		p.sample()
		all.AddAt(anomalyMissed, p.misses, p.probe)
	}
	return all.List()
}

// keepCounts reads the counters one last time.
func (s *Source) keepCounts() {
	if s.l != nil && s.l.maps != nil {
		s.read.hits, s.read.lostTotal = s.readHits(), s.lostByGroup()
	}
}

// waitForPrograms returns when no program that was attached a moment ago runs any more.
func waitForPrograms() {
	if membarrierGlobal() != nil {
		time.Sleep(20 * time.Millisecond)
	}
}
