package nsys

import (
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// gpus names devices. An activity holds the CUDA ordinal of its process, which
// CUDA_VISIBLE_DEVICES shifts; TARGET_INFO_CUDA_DEVICE leads from it to a GPU.
type gpus struct {
	byGPU   map[int64]string // device by the number of the GPU
	byCUDA  map[cudaKey]int64
	named   map[string]bool // given an event
	metrics map[metricKey]string
	driver  string
	last    cudaKey
	lastOf  string
}

type cudaKey struct {
	pid     int32
	ordinal int64
}

type metricKey struct{ typ, metric int64 }

// devices makes an event of each GPU that the file describes.
func (r *reader) devices() {
	r.gpus.byGPU, r.gpus.byCUDA = map[int64]string{}, map[cudaKey]int64{}
	r.gpus.named, r.gpus.metrics = map[string]bool{}, map[metricKey]string{}
	cols := []string{"id", "name", "busLocation", "uuid", "totalMemory", "smCount", "computeMajor", "computeMinor", "chipName", "clockRate", "memoryBandwidth", "isDiscrete"}
	r.each("TARGET_INFO_GPU", cols, func(s *scan) {
		id, ok := s.rows.Int(0)
		if !ok || len(r.gpus.byGPU) >= maxNameKeys {
			return
		}
		name := pciAddress(s.rows.Text(2))
		if name == "" {
			name = deviceName(id)
		}
		r.gpus.byGPU[id] = name
		r.gpus.named[name] = true
		e := r.device(name, id)
		e.SetStr(event.FieldName, r.cut(s.rows.Text(1)))
		r.obj.Reset()
		for i, c := range cols[3:] {
			switch v := s.rows.Value(3 + i).(type) {
			case int64:
				r.obj.Int(snake(c), v)
			case string, []byte:
				r.obj.Str(snake(c), r.cut(s.rows.Text(3+i)))
			}
		}
		e.SetStr(event.FieldArgs, r.obj.String())
		r.head = append(r.head, e)
	})
	r.each("TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, func(s *scan) {
		g, ok1 := s.rows.Int(0)
		c, ok2 := s.rows.Int(1)
		p, ok3 := s.rows.Int(2)
		if ok1 && ok2 && ok3 && len(r.gpus.byCUDA) < maxNameKeys {
			r.gpus.byCUDA[cudaKey{int32(p), c}] = g
		}
	})
}

func (r *reader) device(name string, ordinal int64) event.Event {
	e := event.New(event.KindDevice, event.NoTime)
	e.Source = "nsys:gpus"
	e.SetStr(event.FieldDevice, name)
	e.SetStr(event.FieldDriver, "nvidia")
	e.SetStr(event.FieldVersion, r.gpus.driver)
	e.SetInt(event.FieldOrdinal, ordinal)
	return e
}

// name is the device of a CUDA ordinal in a process.
func (g *gpus) name(r *reader, pid int32, ordinal int64) string {
	k := cudaKey{pid, ordinal}
	if g.lastOf != "" && g.last == k {
		return g.lastOf
	}
	id, ok := g.byCUDA[k]
	if !ok {
		id = ordinal
	}
	g.last, g.lastOf = k, g.byID(r, id)
	return g.lastOf
}

func (g *gpus) byID(r *reader, id int64) string {
	if s := g.byGPU[id]; s != "" {
		return s
	}
	s := deviceName(id)
	if !g.named[s] && len(g.named) < 1<<10 {
		g.named[s] = true
	}
	return s
}

// deviceName is the identity of a GPU of which nothing but its number is known.
func deviceName(id int64) string { return "gpu" + strconv.FormatInt(id, 10) }

// pciAddress gives a bus location as the kernel writes it: 0000:1b:00.0.
func pciAddress(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) == len("00000000:1b:00.0") && strings.HasPrefix(s, "0000") {
		s = s[4:]
	}
	if len(s) != len("0000:1b:00.0") || s[4] != ':' || s[7] != ':' || s[10] != '.' {
		return ""
	}
	return s
}
