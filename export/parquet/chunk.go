package parquet

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is what a row group has of a column: its pages, as the file has them.
type chunk struct {
	body     []byte // data pages with their headers
	pages    []page
	rows     int
	rawBytes int  // of all pages, headers included, before compression
	dense    bool // compressing pages does not pay
	usesDict bool // pages refer to the dictionary
}

// page is what the indexes say of a page.
type page struct {
	rows, nulls int
	first       int // row of the row group
	at, size    int // in chunk.body, header included
	encoding    format.Encoding
	least, most []byte // nil if no value has an order
}

func (c *chunk) reset() {
	c.body, c.pages = c.body[:0], c.pages[:0]
	c.rows, c.rawBytes, c.dense, c.usesDict = 0, 0, false, false
}

// add appends a page, whose levels and values are w.raw.
func (c *chunk) add(p page, w *pageWriter) error {
	header := format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(p.rows), Encoding: p.encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			Statistics: format.Statistics{NullCount: int64(p.nulls)},
		}),
	}
	if c.dense {
		w.packed = appendStored(w.packed[:0], w.raw)
	} else {
		w.compress(w.raw)
		c.dense = len(c.pages) == 0 && !c.usesDict && hardlySmaller(len(w.packed), len(w.raw))
	}
	p.first, p.at = c.rows, len(c.body)
	var err error
	if c.body, err = w.append(c.body, &header, len(w.raw)); err != nil {
		return err
	}
	p.size = len(c.body) - p.at
	c.rawBytes += p.size - len(w.packed) + len(w.raw)
	c.rows += p.rows
	c.pages = append(c.pages, p)
	return nil
}

// hardlySmaller reports whether compressing a page saves so little that the
// pages after it are spared it. Little pages say nothing about others.
func hardlySmaller(packed, raw int) bool { return raw >= 4<<10 && packed > raw-raw/64 }

// pageWriter makes pages. Its buffers serve all columns of a file.
type pageWriter struct {
	encoder *zstd.Encoder
	raw     []byte // a page's levels and values
	packed  []byte // the same compressed
	trial   []byte
	head    bytes.Buffer
	thrift  *thrift.Encoder
}

func newPageWriter() (*pageWriter, error) {
	e, err := compressor()
	if err != nil {
		return nil, err
	}
	w := &pageWriter{encoder: e}
	w.thrift = thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&w.head))
	return w, nil
}

// compress sets packed to src compressed.
func (w *pageWriter) compress(src []byte) { w.packed = w.encoder.EncodeAll(src, w.packed[:0]) }

// append appends a page, packed, which was rawSize: its header, which it
// completes, and its body.
func (w *pageWriter) append(dst []byte, h *format.PageHeader, rawSize int) ([]byte, error) {
	if rawSize > math.MaxInt32 || len(w.packed) > math.MaxInt32 {
		return dst, fmt.Errorf("a page of %d bytes is more than the format can hold", rawSize)
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(rawSize), int32(len(w.packed))
	h.CRC = int32(crc32.ChecksumIEEE(w.packed))
	head, err := w.encode(h)
	if err != nil {
		return dst, err
	}
	return append(append(dst, head...), w.packed...), nil
}

// encode returns v in Thrift's compact protocol, valid until the next call.
func (w *pageWriter) encode(v any) ([]byte, error) {
	w.head.Reset()
	err := w.thrift.Encode(v)
	return w.head.Bytes(), err
}

// dictionaryPage returns the page of a dictionary, and its size before
// compression.
func (w *pageWriter) dictionaryPage(d dictionary) (page []byte, rawSize int, err error) {
	w.raw = d.appendEntries(w.raw[:0])
	w.compress(w.raw)
	header := format.PageHeader{
		Type:                 format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(d.entries()), Encoding: format.Plain}),
	}
	page, err = w.append(nil, &header, len(w.raw))
	return page, len(page) - len(w.packed) + len(w.raw), err
}

// sampleValues is how many values of a page its encoding is chosen by.
const sampleValues = 4096

// choose chooses the encoding of v that makes its page smaller.
func (w *pageWriter) choose(v *intValues) error {
	sample := v.ints[:min(len(v.ints), sampleValues)]
	best := math.MaxInt
	for _, e := range []format.Encoding{format.Plain, format.DeltaBinaryPacked} {
		var err error
		if w.trial, err = v.encodeAs(w.trial[:0], sample, e); err != nil {
			return err
		}
		if w.compress(w.trial); len(w.packed) < best {
			best, v.encoding = len(w.packed), e
		}
	}
	return nil
}
