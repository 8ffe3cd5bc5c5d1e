package rocm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// handle is {"handle": n}.
type handle struct{ Handle uint64 }

// process reads what the file holds of a process.
func (r *reader) process() error {
	r.proc = process{pid: event.NoID, ops: map[int][]string{}, kinds: map[int]string{}, kernels: map[uint64]string{}, agents: map[uint64]agent{}, markers: map[uint64]string{}}
	return r.object(func(key string) error {
		switch key {
		case "metadata":
			return r.metadata()
		case "agents":
			return r.array(r.agent)
		case "strings":
			return r.names()
		case "kernel_symbols":
			return r.array(r.kernelSymbol)
		case "buffer_records":
			return r.object(r.records)
		}
		return r.skip(key)
	})
}

func (r *reader) metadata() error {
	var m struct {
		PID      int32 `json:"pid"`
		PPID     int32 `json:"ppid"`
		InitTime int64 `json:"init_time"`
		Command  any   `json:"command"`
		Node     struct {
			Hostname string `json:"hostname"`
			Release  string `json:"release"`
			Machine  string `json:"machine"`
		} `json:"node"`
	}
	if err := r.decode(&m); err != nil {
		return err
	}
	if h := &r.meta.Host; h.Name == "" {
		h.Name, h.Kernel, h.Machine = m.Node.Hostname, m.Node.Release, m.Node.Machine
	}
	var cmd []string
	switch c := m.Command.(type) {
	case string:
		cmd = []string{c}
	case []any:
		for _, x := range c {
			if s, ok := x.(string); ok {
				cmd = append(cmd, s)
			}
		}
	}
	if r.meta.Command == nil {
		r.meta.Command = cmd
	}
	if m.PID > 0 {
		r.proc.pid = m.PID
		e := r.add(event.KindProcess, event.NoTime, "rocprofv3:metadata")
		e.PID = m.PID
		if len(cmd) > 0 {
			e.SetStr(event.FieldName, cmd[0][strings.LastIndexByte(cmd[0], '/')+1:])
		}
		e.SetStr(event.FieldCmdline, strings.Join(cmd, " "))
		if m.PPID > 0 {
			e.SetInt(event.FieldPPID, int64(m.PPID))
		}
	}
	return nil
}

// agent reads a device; KFD's location is bus, device and function.
func (r *reader) agent() error {
	var a struct {
		ID          handle `json:"id"`
		Type        int    `json:"type"`
		Name        string `json:"name"`
		Product     string `json:"product_name"`
		Node        int64  `json:"node_id"`
		LogicalNode *int64 `json:"logical_node_type_id"`
		Location    uint32 `json:"location_id"`
		Domain      uint32 `json:"domain"`
	}
	if err := r.decode(&a); err != nil {
		return err
	}
	const gpu = 2
	if a.Type != gpu || len(r.proc.agents) >= 4096 {
		return nil
	}
	ordinal := a.Node
	if a.LogicalNode != nil {
		ordinal = *a.LogicalNode
	}
	dev := "gpu" + strconv.FormatInt(ordinal, 10)
	if a.Location != 0 {
		dev = fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Location>>8&0xff, a.Location>>3&0x1f, a.Location&7)
	}
	r.proc.agents[a.ID.Handle] = agent{dev, ordinal}
	e := r.add(event.KindDevice, event.NoTime, "rocprofv3:agents")
	name := a.Product
	if name == "" {
		name = a.Name
	}
	e.SetStr(event.FieldDevice, dev)
	e.SetStr(event.FieldName, name)
	e.SetStr(event.FieldDriver, "amdgpu")
	e.SetInt(event.FieldOrdinal, ordinal)
	if a.Product != "" && a.Name != "" {
		r.obj.Reset()
		r.obj.Str("arch", a.Name)
		e.SetStr(event.FieldArgs, r.obj.String())
	}
	return nil
}

// names reads the names of kinds and operations.
func (r *reader) names() error {
	return r.object(func(key string) error {
		switch key {
		case "buffer_records":
			i := 0
			return r.array(func() error {
				var k struct {
					Kind       string   `json:"kind"`
					Operations []string `json:"operations"`
				}
				err := r.decode(&k)
				if i < 4096 {
					r.proc.kinds[i], r.proc.ops[i] = k.Kind, k.Operations
				}
				i++
				return err
			})
		case "marker_api":
			return r.array(func() error {
				var m struct {
					Key   uint64 `json:"key"`
					Value string `json:"value"`
				}
				err := r.decode(&m)
				if len(r.proc.markers) < maxLinks/4 {
					r.proc.markers[m.Key] = cut(m.Value)
				} else {
					r.count.Add(&AnomalyTooMany, 1)
				}
				return err
			})
		}
		return r.skip("strings." + key)
	})
}

func (r *reader) kernelSymbol() error {
	var k struct {
		ID        uint64 `json:"kernel_id"`
		Name      string `json:"kernel_name"`
		Formatted string `json:"formatted_kernel_name"`
	}
	if err := r.decode(&k); err != nil {
		return err
	}
	name := k.Formatted
	if name == "" {
		name = strings.TrimSuffix(k.Name, ".kd")
	}
	if len(r.proc.kernels) < maxLinks/4 {
		r.proc.kernels[k.ID] = cut(name)
	}
	return nil
}
