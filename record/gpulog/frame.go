package gpulog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/gpurec/gpurec/record/event"
)

// Marker begins every block, and so every log.
const Marker = "\x89GPUREC\n"

// Bounds of the format. No length in a log makes a reader allocate more.
const (
	HeaderSize     = 64
	TrailerSize    = 24      // body of the trailer
	MaxBody        = 1 << 20 // bytes of a body, stored and decompressed
	MaxBlockEvents = 1 << 16
	MaxBlockTable  = 1<<16 - 1 // strings, identities, or shapes of an event block
	MaxShapeFields = 255
	MaxBlockKeyed  = 1024 // columns of an event block in encoding keyed
	MaxMetaParts   = 64   // blocks of one copy of the metadata
)

// BlockType says what a block's body holds.
type BlockType uint8

// The block types.
const (
	BlockNone    BlockType = iota
	BlockMeta              // metadata, or a part of it
	BlockSchema            // names of kinds and fields
	BlockEvents            // events, as columns
	BlockIndex             // where event blocks are
	BlockTrailer           // the end: where the index is

	numBlockTypes
)

var blockNames = [numBlockTypes]string{"none", "meta", "schema", "events", "index", "trailer"}

func (t BlockType) String() string {
	if t < numBlockTypes {
		return blockNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Codec says how a body is stored.
type Codec uint8

// The codecs.
const (
	CodecNone Codec = iota // as it is
	CodecZstd              // one zstd frame
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the fixed part of a block. Its fields stand in the file in this
// order, little-endian, after the marker.
type header struct {
	typ      BlockType
	codec    Codec
	major    uint8
	minor    uint8
	stored   uint32 // bytes of the body in the file
	raw      uint32 // bytes of the body decompressed
	events   uint32 // events in the body
	seq      uint32 // blocks before this one
	log      uint32 // CRC32C of the first block's decompressed body: the same in all blocks of a log
	ordinal  uint64 // events before this block
	min, max event.Time
	bodyCRC  uint32
}

// put writes h to the first HeaderSize bytes of b.
func (h *header) put(b []byte) {
	_ = b[HeaderSize-1]
	le := binary.LittleEndian
	copy(b, Marker)
	b[8], b[9], b[10], b[11] = byte(h.typ), byte(h.codec), h.major, h.minor
	le.PutUint32(b[12:], h.stored)
	le.PutUint32(b[16:], h.raw)
	le.PutUint32(b[20:], h.events)
	le.PutUint32(b[24:], h.seq)
	le.PutUint32(b[28:], h.log)
	le.PutUint64(b[32:], h.ordinal)
	le.PutUint64(b[40:], uint64(h.min))
	le.PutUint64(b[48:], uint64(h.max))
	le.PutUint32(b[56:], h.bodyCRC)
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
}

// parseHeader reads a header from the first HeaderSize bytes of b. It is not
// ok if they are no sound header.
func parseHeader(b []byte) (h header, ok bool) {
	_ = b[HeaderSize-1]
	le := binary.LittleEndian
	if string(b[:8]) != Marker || le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return h, false
	}
	h = header{
		typ: BlockType(b[8]), codec: Codec(b[9]), major: b[10], minor: b[11],
		stored: le.Uint32(b[12:]), raw: le.Uint32(b[16:]), events: le.Uint32(b[20:]),
		seq: le.Uint32(b[24:]), log: le.Uint32(b[28:]), ordinal: le.Uint64(b[32:]),
		min: event.Time(le.Uint64(b[40:])), max: event.Time(le.Uint64(b[48:])),
		bodyCRC: le.Uint32(b[56:]),
	}
	return h, h.stored <= MaxBody && h.raw <= MaxBody && h.events <= MaxBlockEvents
}
