package rocm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/importer"
	"github.com/gpurec/gpurec/record/importer/args"
)

// reader reads rocprofv3's JSON: {"rocprofiler-sdk-tool": [{process}, …]}.
// Names (strings, kernel_symbols, agents) stand before the records, so that
// one pass suffices: each record is decoded by itself.
type reader struct {
	name    string
	limit   *limited
	dec     *json.Decoder
	count   event.Counters
	meta    event.Meta
	proc    process
	obj     args.Object
	batch   *event.Batch
	dummy   event.Batch
	yield   func(struct{}) bool
	next    func() (struct{}, bool)
	stop    func()
	stopped bool
	failure error
}

// process is what the file says of a process before its records.
type process struct {
	pid     int32
	ops     map[int][]string // names of operations by kind
	kinds   map[int]string
	kernels map[uint64]string
	agents  map[uint64]agent
	markers map[uint64]string // texts of markers, by correlation id
}

type agent struct {
	device  string
	ordinal int64
}

// maxMember bounds one record, and what is read at once of anything else.
const maxMember = 64 << 20

// limited stops a member that has no end.
type limited struct {
	r    io.Reader
	left int64
}

var errTooLong = errors.New("a member is longer than 64 MiB")

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func openJSON(in importer.Input, o importer.Options) (importer.Reader, error) {
	r := &reader{name: in.Name, limit: &limited{r: in.R, left: maxMember}}
	r.dec = json.NewDecoder(r.limit)
	r.dec.UseNumber()
	// rocprofiler-sdk does not say in the file which clock it read.
	r.meta = event.Meta{Format: "rocprofv3-json", Clock: event.ClockUnknown}
	if o.Clock != "" {
		r.meta.Clock = o.Clock
	}
	r.next, r.stop = iter.Pull(r.run)
	return r, nil
}

// run reads the whole input; it yields whenever the batch is full.
func (r *reader) run(yield func(struct{}) bool) {
	r.yield = yield
	err := r.object(func(key string) error {
		if key != "rocprofiler-sdk-tool" {
			return r.skip(key)
		}
		return r.array(func() error { return r.process() })
	})
	if err != nil && !r.stopped {
		r.count.AddAt(&AnomalyDamaged, 1, err.Error())
		r.failure = &importer.Error{Name: r.name, Offset: r.dec.InputOffset(), Err: err, Remedy: "what was read up to here is kept; copy the file again for the rest"}
	}
	if !r.stopped && len(r.batch.Events) > 0 {
		yield(struct{}{})
	}
}

var errStopped = errors.New("stopped")

// token reads a token; the input may go on behind it.
func (r *reader) token() (json.Token, error) {
	r.limit.left = maxMember
	if r.stopped {
		return nil, errStopped
	}
	t, err := r.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t, err
}

// object calls do at the value of each member; do must read it. A value that
// is no object is left out.
func (r *reader) object(do func(key string) error) error {
	return r.each('{', func() error {
		t, err := r.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return errors.New("no key where one must be")
		}
		return do(key)
	})
}

// array calls do at each element.
func (r *reader) array(do func() error) error { return r.each('[', do) }

func (r *reader) each(open json.Delim, do func() error) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	d, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if d != open {
		return r.close()
	}
	for r.dec.More() {
		if err := do(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

// close reads to the end of an object or array that has been opened.
func (r *reader) close() error {
	for depth := 1; depth > 0; {
		t, err := r.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// skip leaves a value out.
func (r *reader) skip(what string) error {
	r.count.AddAt(&AnomalyNotRead, 1, what)
	t, err := r.token()
	if err != nil {
		return err
	}
	if _, ok := t.(json.Delim); ok {
		return r.close()
	}
	return nil
}

// decode reads a value whole. A value of another type is counted, not fatal.
func (r *reader) decode(v any) error {
	r.limit.left = maxMember
	err := r.dec.Decode(v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		r.count.AddAt(&AnomalyBadRecord, 1, fmt.Sprintf("byte %d: %s is a %s", r.dec.InputOffset(), wrong.Field, wrong.Value))
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

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

// add appends an event to the batch. It is valid until the next add.
func (r *reader) add(k event.Kind, t event.Time, source string) *event.Event {
	if r.stopped {
		r.batch = &r.dummy
		r.dummy.Reset()
	} else if len(r.batch.Events) >= event.DefaultBatch && !r.yield(struct{}{}) {
		r.stopped = true
		r.batch = &r.dummy
		r.dummy.Reset()
	}
	e := r.batch.Add(k, t)
	e.Source = source
	return e
}

// Next fills b with events; see [event.Source].
func (r *reader) Next(b *event.Batch) error {
	b.Reset()
	r.batch = b
	if _, ok := r.next(); ok {
		return nil
	}
	if r.failure != nil {
		return r.failure
	}
	return io.EOF
}

// Meta describes the input.
func (r *reader) Meta() *event.Meta { return &r.meta }

// Counters holds the anomalies so far.
func (r *reader) Counters() *event.Counters { return &r.count }

// Close ends reading.
func (r *reader) Close() error {
	r.stopped = true
	r.batch = &r.dummy
	r.stop()
	return nil
}
