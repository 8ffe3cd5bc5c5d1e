package perfetto

import (
	"strconv"

	"github.com/gpurec/gpurec/record/event"
)

// gpus are the devices and hardware queues of a trace.
type gpus struct {
	list   []string // PCI addresses by number, as GpuInfo gives them
	titles []string // names, the same way
	queues map[queueKey]uint64
	global map[int64]*counterSet  // counters that a data source described once
	specs  map[queueSpec]specName // of the oldest form of render stages
}

// queueKey is a hardware queue: its number within its sequence says nothing
// beyond it, its name does.
type queueKey struct {
	gpu  int64
	name string
}

type queueSpec struct {
	queue bool
	id    uint64
}

type specName struct{ name string }

const maxGPUs = 1024

// name is the device of a number.
func (g *gpus) name(id int64) string {
	if id >= 0 && id < int64(len(g.list)) && g.list[id] != "" {
		return g.list[id]
	}
	return "gpu" + strconv.FormatInt(id, 10)
}

// ownName is the device of a number as gpurec's export calls it in its jobs:
// its address, else its name.
func (g *gpus) ownName(id int64) string {
	if s := g.name(id); id < 0 || id >= int64(len(g.list)) || g.list[id] != "" || g.titles[id] == "" {
		return s
	}
	return g.titles[id]
}

// gpu is an entry of GpuInfo.
type gpu struct {
	name, vendor, model, arch, pci string
	extra                          [][2]string
}

// gpuInfo lists the GPUs; the index is the GPU's number.
func (r *reader) gpuInfo(m *message) {
	var f field
	for i := int64(0); m.next(&f); {
		if f.num == 1 && i < maxGPUs {
			r.gpu(i, r.readGPU(f.b))
			i++
		}
	}
}

func (r *reader) readGPU(b []byte) (g gpu) {
	var f, kv field
	m := message{b: b}
	for m.next(&f) {
		switch f.num {
		case 1:
			g.name = r.str(f.b)
		case 2:
			g.vendor = r.str(f.b)
		case 3:
			g.model = r.str(f.b)
		case 4:
			g.arch = r.str(f.b)
		case 6:
			var p [2]string
			for x := (message{b: f.b}); x.next(&kv); {
				if kv.num == 1 || kv.num == 2 {
					p[kv.num-1] = r.str(kv.b)
				}
			}
			if len(g.extra) < 256 {
				g.extra = append(g.extra, p)
			}
		case 7:
			g.pci = r.str(f.b)
		}
	}
	if m.bad {
		r.note(&AnomalyBadPacket, 1)
	}
	return g
}

// gpu keeps a device and gives its event. A name alone is no identity:
// activities tell which number they mean, and so do the tracks of gpurec's own
// export.
func (r *reader) gpu(i int64, g gpu) {
	if g.name == "" {
		g.name = g.model
	}
	if g.name == g.pci {
		g.name = ""
	}
	for int64(len(r.gpus.list)) <= i {
		r.gpus.list, r.gpus.titles = append(r.gpus.list, ""), append(r.gpus.titles, "")
	}
	r.gpus.list[i], r.gpus.titles[i] = g.pci, g.name
	if g.pci == "" && len(g.extra) == 0 && g.vendor == "" {
		return
	}
	e := r.add(event.KindDevice, event.NoTime)
	e.Source = "perfetto:gpu_info"
	e.SetStr(event.FieldDevice, r.gpus.name(i))
	e.SetStr(event.FieldName, g.name)
	e.SetInt(event.FieldOrdinal, i)
	r.obj.Reset()
	for _, kv := range append([][2]string{{"vendor", g.vendor}, {"model", g.model}, {"architecture", g.arch}}, g.extra...) {
		if kv[1] != "" {
			r.obj.Str(kv[0], kv[1])
		}
	}
	e.SetStr(event.FieldArgs, r.obj.String())
}

// gpuMemory reads a GpuMemTotalEvent: pid 0 is the whole device.
func (r *reader) gpuMemory(h *head, m *message) {
	gpu, pid, size := int64(0), int32(0), uint64(0)
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			gpu = int64(f.v)
		case 2:
			pid = int32(f.v)
		case 3:
			size = f.v
		}
	}
	e := r.add(event.KindCounter, h.time)
	e.Source = "perfetto:gpu_mem_total"
	e.SetStr(event.FieldName, "gpu_mem_total")
	e.SetStr(event.FieldUnit, "bytes")
	e.SetStr(event.FieldDevice, r.gpus.name(gpu))
	e.SetFloat(event.FieldValue, float64(size))
	if pid > 0 {
		e.PID = pid
	}
}

func (r *reader) gpuFrequency(h *head, m *message) {
	var gpu int64
	var khz uint64
	var f field
	for m.next(&f) {
		switch f.num {
		case 1:
			gpu = int64(f.v)
		case 2:
			khz = f.v
		}
	}
	e := r.add(event.KindCounter, h.time)
	e.Source = "perfetto:gpu_frequency"
	e.SetStr(event.FieldName, "gpu_frequency")
	e.SetStr(event.FieldUnit, "kHz")
	e.SetStr(event.FieldDevice, r.gpus.name(gpu))
	e.SetFloat(event.FieldValue, float64(khz))
}

// gpuLog reads a message of a GPU's driver.
func (r *reader) gpuLog(h *head, m *message) {
	var tag, text string
	var f field
	for m.next(&f) {
		switch f.num {
		case 2:
			tag = r.str(f.b)
		case 3:
			text = r.str(f.b)
		}
	}
	if tag != "" {
		text = tag + ": " + text
	}
	e := r.add(event.KindLogLine, h.time)
	e.Source = "perfetto:gpu_log"
	e.SetStr(event.FieldName, text)
}
