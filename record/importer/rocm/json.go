package rocm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

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
	r.meta = event.Meta{Format: "rocprofv3-json", Clock: sdkClock}
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
