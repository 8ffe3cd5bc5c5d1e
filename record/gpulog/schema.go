package gpulog

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/gpurec/gpurec/protos/gpulog"
	"github.com/gpurec/gpurec/record/event"
)

// schema maps a log's numbers to kinds and fields. It holds only what differs
// from the numbers of the format.
type schema struct {
	kinds  map[uint32]kindEntry
	fields map[uint32]fieldEntry
}

type kindEntry struct {
	name string
	kind event.Kind // KindUnknown if this program knows none of that name
}

type fieldEntry struct {
	name  string
	field event.Field // FieldNone if this program knows none of that name
}

// standard maps the numbers of the format.
var standard = sync.OnceValue(func() *schema {
	s := &schema{make(map[uint32]kindEntry), make(map[uint32]fieldEntry)}
	for k := event.Kind(1); k < event.NumKinds; k++ {
		s.kinds[wireKindOf[k]] = kindEntry{k.String(), k}
	}
	for f := event.Field(1); f < event.NumFields; f++ {
		s.fields[wireFieldOf[f]] = fieldEntry{f.String(), f}
	}
	return s
})

func (s *schema) clone() *schema {
	return &schema{maps.Clone(s.kinds), maps.Clone(s.fields)}
}

func (s *schema) kind(n uint32) kindEntry {
	for _, t := range []*schema{s, standard()} {
		if k, ok := t.kinds[n]; ok {
			return k
		}
	}
	return kindEntry{name: fmt.Sprintf("kind_%d", n)}
}

func (s *schema) field(n uint32) fieldEntry {
	for _, t := range []*schema{s, standard()} {
		if f, ok := t.fields[n]; ok {
			return f
		}
	}
	return fieldEntry{name: fmt.Sprintf("field_%d", n)}
}

// encodeSchema returns the body of a schema block.
func encodeSchema() ([]byte, error) {
	var p gpulog.Schema
	for k := event.Kind(1); k < event.NumKinds; k++ {
		pk := &gpulog.Schema_Kind{Number: wireKindOf[k], Name: k.String()}
		for _, f := range k.Spec().Fields {
			pk.Fields = append(pk.Fields, wireFieldOf[f])
		}
		p.Kinds = append(p.Kinds, pk)
	}
	for f := event.Field(1); f < event.NumFields; f++ {
		p.Fields = append(p.Fields, &gpulog.Schema_Field{
			Number: wireFieldOf[f], Name: f.String(), Type: uint32(wireTypeOf[f.Spec().Type]),
		})
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&p)
}

// ownSchema is what this program writes.
var ownSchema = sync.OnceValues(encodeSchema)

// update takes over the names of a schema block.
func (s *schema) update(body []byte) error {
	if own, err := ownSchema(); err == nil && bytes.Equal(own, body) {
		s.kinds, s.fields = nil, nil
		return nil
	}
	var p gpulog.Schema
	if err := proto.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	s.kinds, s.fields = make(map[uint32]kindEntry), make(map[uint32]fieldEntry)
	for _, k := range p.Kinds {
		s.kinds[k.Number] = kindEntry{k.Name, event.KindByName(k.Name)}
	}
	for _, f := range p.Fields {
		s.fields[f.Number] = fieldEntry{f.Name, event.FieldByName(f.Name)}
	}
	return nil
}
