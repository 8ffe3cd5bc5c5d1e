package bpf

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// drmTypes makes the BTF of a kernel's scheduler: offsets in bytes as a kernel
// of that generation might have them.
func drmTypes(t *testing.T, young bool) *btf.Spec {
	t.Helper()
	u64 := &btf.Int{Name: "u64", Size: 8, Encoding: btf.Unsigned}
	i32 := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	char := &btf.Int{Name: "char", Size: 1}
	str := &btf.Pointer{Target: &btf.Const{Type: char}}
	st := func(name string, size uint32, members ...btf.Member) *btf.Struct {
		return &btf.Struct{Name: name, Size: size, Members: members}
	}
	at := func(name string, typ btf.Type, off uint32) btf.Member {
		return btf.Member{Name: name, Type: typ, Offset: btf.Bits(off * 8)}
	}
	ptr := func(typ btf.Type) *btf.Pointer { return &btf.Pointer{Target: typ} }
	atomic := &btf.Typedef{Name: "atomic_t", Type: st("", 4, at("counter", i32, 0))}
	kobj := st("kobject", 64, at("name", str, 0))
	dev := st("device", 700, at("kobj", kobj, 0), at("init_name", str, 80))
	ops := st("dma_fence_ops", 64, at("get_driver_name", ptr(&btf.Void{}), 8))
	fence := st("dma_fence", 64, at("ops", ptr(ops), 8), at("context", u64, 32), at("seqno", u64, 40), at("error", i32, 60))
	sched := st("drm_gpu_scheduler", 400, at("name", str, 96), at("dev", ptr(dev), 300))
	sf := st("drm_sched_fence", 200, at("scheduled", fence, 0), at("finished", fence, 64), at("parent", ptr(fence), 136), at("sched", ptr(sched), 144))
	entity := st("drm_sched_entity", 200, at("job_queue", st("spsc_queue", 24, at("job_count", atomic, 16)), 40))
	job := st("drm_sched_job", 200, at("sched", ptr(sched), 16), at("s_fence", ptr(sf), 24))
	if young {
		sched.Members = append(sched.Members, at("credit_count", atomic, 160))
		sf.Members = append(sf.Members, at("drm_client_id", u64, 184))
	} else {
		sched.Members = append(sched.Members, at("hw_rq_count", atomic, 152))
		job.Members = append(job.Members, at("id", u64, 56))
	}
	b, err := btf.NewBuilder([]btf.Type{u64, i32, char, dev, ops, fence, sched, sf, entity, job}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// The scheduler's programs find their fields in the BTF of both generations,
// and the verifier takes them. There is no scheduler here: they are loaded for
// a tracepoint with as many arguments.
func TestSchedulerProgramsLoad(t *testing.T) {
	stub(t)
	for _, young := range []bool{false, true} {
		types := drmTypes(t, young)
		for _, k := range append(slices.Clone(olderSched), newerSched...) {
			l, err := newLoader(settings{ringBytes: minRingBytes})
			if err != nil {
				t.Fatal(err)
			}
			one := l.spec.Copy()
			p := one.Programs[k.prog]
			p.AttachTo = "sched_process_fork" // two pointers
			one.Programs = map[string]*ebpf.ProgramSpec{k.prog: p}
			c, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{
				MapReplacements: l.maps.Maps, Cache: l.cache,
				Programs: ebpf.ProgramOptions{ExtraRelocationTargets: []*btf.Spec{types}},
			})
			if err != nil {
				var ve *ebpf.VerifierError
				if errors.As(err, &ve) {
					t.Errorf("%s, young %v: %+v", k.prog, young, ve)
				} else {
					t.Errorf("%s, young %v: %v", k.prog, young, err)
				}
			} else {
				c.Close()
			}
			l.close()
		}
	}
}
