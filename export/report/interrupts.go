package report

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

type irqKey struct {
	device       correlate.ID
	driver, name string
}

type irqAcc struct {
	n    uint64
	time *dist
}

// addIRQ takes an interrupt of a GPU; those of other devices are not counted.
func (b *Builder) addIRQ(r *correlate.IRQ) {
	if r.DeviceID == 0 && r.Driver == "" {
		return
	}
	k := irqKey{r.DeviceID, r.Driver, r.Name}
	a := get(&b.rep.Capped, b.irqs, k, irqKey{}, func(irqKey) *irqAcc { return &irqAcc{time: b.dists.get()} })
	a.n++
	if r.StartNS.OK && r.EndNS.OK {
		a.time.add(int64(r.EndNS.V - r.StartNS.V))
	}
}

func (b *Builder) endIRQs() {
	r := &b.rep
	for k, a := range b.irqs {
		r.Interrupts = append(r.Interrupts, Interrupts{DeviceID: idPtr(k.device), GPU: b.gpu(k.device), Driver: k.driver, Name: k.name,
			Count: a.n, Time: a.time.stats(), PerSecond: ratio(int64(a.n)*1e9, r.span())})
	}
	slices.SortFunc(r.Interrupts, func(x, y Interrupts) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), b.compareGPU(id(x.DeviceID), id(y.DeviceID)), cmp.Compare(x.Driver, y.Driver), cmp.Compare(x.Name, y.Name))
	})
}
