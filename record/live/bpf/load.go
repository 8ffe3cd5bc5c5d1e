package bpf

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	objects "github.com/gpurec/gpurec/bpf"
)

// loader holds the maps, shared by all programs, and loads programs one by
// one: each may be missing.
type loader struct {
	spec  *ebpf.CollectionSpec
	maps  *ebpf.Collection
	cache *btf.Cache

	mountTracefs bool // see Options
}

// settings are the constants of the programs.
type settings struct {
	all, byMagic, stopOnLoad bool
	fenceOps                 [2]uint64
	ringBytes                uint32
}

func newLoader(set settings) (*loader, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("bpf: the programs know the argument registers of x86-64 only, this is %s: %w", runtime.GOARCH, errAbsent)
	}
	spec, err := objects.LoadGpurec()
	if err != nil {
		return nil, err
	}
	spec.Maps[objects.GpurecMapEvents].MaxEntries = set.ringBytes
	for name, v := range map[string]any{
		objects.GpurecVarScopeAll:      flag(set.all),
		objects.GpurecVarIoctlByMagic:  flag(set.byMagic),
		objects.GpurecVarStopOnLoad:    flag(set.stopOnLoad),
		objects.GpurecVarSchedFenceOps: set.fenceOps,
	} {
		if err := spec.Variables[name].Set(v); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	l := &loader{spec: spec, cache: btf.NewCache()}
	maps := spec.Copy()
	maps.Programs = nil
	if l.maps, err = ebpf.NewCollection(maps); err != nil {
		return nil, explain("create the BPF maps", err)
	}
	return l, nil
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func (l *loader) close() {
	if l != nil && l.maps != nil {
		l.maps.Close()
		l.maps = nil
	}
}

// load loads one program with an attach type; 0 leaves that of the object,
// attachNone sets none.
func (l *loader) load(name string, typ ebpf.AttachType) (*ebpf.Program, error) {
	one := l.spec.Copy()
	p := one.Programs[name]
	if p == nil {
		return nil, fmt.Errorf("the object has no program %s", name)
	}
	switch typ {
	case 0:
	case attachNone:
		p.AttachType = ebpf.AttachNone
	default:
		p.AttachType = typ
	}
	one.Programs = map[string]*ebpf.ProgramSpec{name: p}
	c, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{MapReplacements: l.maps.Maps, Cache: l.cache})
	if err != nil {
		return nil, explain("load "+name, err)
	}
	defer c.Close()
	return c.DetachProgram(name), nil
}

// program is a loaded program and what it is attached to.
type program struct {
	name      string // in the object
	probe     string // what it watches, as Probe.Name
	mechanism string
	group     objects.Group
	id        uint16 // index of its hits; 0 for the uprobe programs
	prog      *ebpf.Program
	links     []io.Closer
	reason    string // why it is not attached
	state     string

	runTime time.Duration // kept after Close
	misses  uint64
}

func (p *program) detach() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	p.links = nil
	return errors.Join(errs...)
}

// sample keeps what the kernel counted for the program.
func (p *program) sample() {
	if p.prog == nil {
		return
	}
	if st, err := p.prog.Stats(); err == nil {
		p.runTime, p.misses = st.Runtime, st.RecursionMisses
	}
}

func (p *program) close() error {
	err := p.detach()
	if p.prog != nil {
		p.sample()
		err = errors.Join(err, p.prog.Close())
		p.prog = nil
	}
	return err
}

// kernelProbe describes a program that watches one tracepoint.
type kernelProbe struct {
	prog   string // in the object
	system string
	event  string
	id     uint16
	group  objects.Group
}

const (
	mechTPBTF = "tp_btf"
	mechTP    = "tracepoint"
)

// attachBTF loads and attaches a tp_btf program.
func (l *loader) attachBTF(k kernelProbe) *program {
	p := &program{name: k.prog, probe: k.system + ":" + k.event, mechanism: mechTPBTF, group: k.group, id: k.id}
	prog, err := l.load(k.prog, 0)
	if err == nil {
		p.prog = prog
		var ln link.Link
		if ln, err = link.AttachTracing(link.TracingOptions{Program: prog}); err == nil {
			p.links = append(p.links, ln)
			p.state = stateAttached
			return p
		}
		err = explain("attach to "+p.probe, err)
	}
	p.fail(err)
	return p
}

// attachTP loads and attaches a program on a tracepoint of tracefs.
func (l *loader) attachTP(k kernelProbe) *program {
	p := &program{name: k.prog, probe: k.system + ":" + k.event, mechanism: mechTP, group: k.group, id: k.id}
	prog, err := l.load(k.prog, 0)
	if err == nil {
		p.prog = prog
		var ln link.Link
		if ln, err = l.attachTracepoint(k.system, k.event, prog); err == nil {
			p.links = append(p.links, ln)
			p.state = stateAttached
			return p
		}
		err = explain("attach to "+p.probe, err)
	}
	p.fail(err)
	return p
}

// The states of a probe.
const (
	stateAttached = "attached"
	stateMissing  = "missing" // this kernel has no such thing
	stateFailed   = "failed"  // it has, but we could not use it
)

func (p *program) fail(err error) {
	p.state, p.reason = stateFailed, err.Error()
	if errors.Is(err, errAbsent) {
		p.state = stateMissing
	}
}
