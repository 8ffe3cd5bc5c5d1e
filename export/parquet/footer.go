package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gpurec/gpurec/correlate"
)

// physicalType returns how a column's values are stored, and what they mean.
func physicalType(t correlate.ColumnType) (format.Type, format.LogicalType, thrift.Null[deprecated.ConvertedType]) {
	whole := func(isSigned bool, old deprecated.ConvertedType) (format.Type, format.LogicalType, thrift.Null[deprecated.ConvertedType]) {
		return format.Int64, format.LogicalType{Value: &format.IntType{BitWidth: 64, IsSigned: isSigned}}, thrift.New(old)
	}
	switch t {
	case correlate.ColUint, correlate.ColPlainUint:
		return whole(false, deprecated.Uint64)
	case correlate.ColReal, correlate.ColPlainReal:
		return format.Double, format.LogicalType{}, thrift.Null[deprecated.ConvertedType]{}
	case correlate.ColBool, correlate.ColPlainBool:
		return format.Boolean, format.LogicalType{}, thrift.Null[deprecated.ConvertedType]{}
	case correlate.ColString:
		return format.ByteArray, format.LogicalType{Value: &format.StringType{}}, thrift.New(deprecated.UTF8)
	}
	return whole(true, deprecated.Int64)
}

// schemaOf returns the Parquet schema of a table: its columns, in their order.
func schemaOf(t *correlate.Table) []format.SchemaElement {
	columns := t.Columns()
	out := []format.SchemaElement{{Name: t.Name, NumChildren: thrift.New(int32(len(columns)))}}
	for _, c := range columns {
		e := format.SchemaElement{Name: c.Name, RepetitionType: thrift.New(format.Required)}
		if nullable(c.Type) {
			e.RepetitionType = thrift.New(format.Optional)
		}
		var physical format.Type
		physical, e.LogicalType, e.ConvertedType = physicalType(c.Type)
		e.Type = thrift.New(physical)
		out = append(out, e)
	}
	return out
}

// metadata returns what the footer says of the column's chunk, which begins at
// offset with a dictionary page of dictBytes, or 0, that was dictRaw.
func (c *column) metadata(offset int64, dictBytes, dictRaw int) format.ColumnMetaData {
	physical, _, _ := physicalType(c.desc.Type)
	m := format.ColumnMetaData{
		Type:                  physical,
		PathInSchema:          []string{c.desc.Name},
		Codec:                 format.Zstd,
		NumValues:             int64(c.chunk.rows),
		TotalUncompressedSize: int64(dictRaw + c.chunk.rawBytes),
		TotalCompressedSize:   int64(dictBytes + len(c.chunk.body)),
		DataPageOffset:        offset + int64(dictBytes),
		Statistics:            c.statistics(),
	}
	add := func(t format.PageType, e format.Encoding) {
		if !slices.Contains(m.Encoding, e) {
			m.Encoding = append(m.Encoding, e)
		}
		for i := range m.EncodingStats {
			if s := &m.EncodingStats[i]; s.PageType == t && s.Encoding == e {
				s.Count++
				return
			}
		}
		m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: t, Encoding: e, Count: 1})
	}
	if dictBytes > 0 {
		m.DictionaryPageOffset = offset
		add(format.DictionaryPage, format.Plain)
	}
	for _, p := range c.chunk.pages {
		add(format.DataPage, p.encoding)
	}
	if c.optional && !slices.Contains(m.Encoding, format.RLE) {
		m.Encoding = append(m.Encoding, format.RLE) // of the levels
	}
	return m
}

// statisticsText is how long the bounds of a column of text may be.
const statisticsText = 4 << 10

func (c *column) statistics() format.Statistics {
	var s format.Statistics
	for _, p := range c.chunk.pages {
		s.NullCount += int64(p.nulls)
		if p.least == nil {
			continue
		}
		if s.MinValue == nil || c.less(p.least, s.MinValue) {
			s.MinValue = p.least
		}
		if s.MaxValue == nil || c.less(s.MaxValue, p.most) {
			s.MaxValue = p.most
		}
	}
	if len(s.MinValue) > statisticsText || len(s.MaxValue) > statisticsText {
		s.MinValue, s.MaxValue = nil, nil
	}
	return s
}

// indexes returns what the page index has of the column's chunk, whose data
// pages begin at offset. Of a chunk with a page that has values but no bounds
// there is no column index.
func (c *column) indexes(offset int64) (*format.ColumnIndex, *format.OffsetIndex) {
	ci, oi := &format.ColumnIndex{}, &format.OffsetIndex{}
	rising, falling := true, true
	var before *page
	for i := range c.chunk.pages {
		p := &c.chunk.pages[i]
		oi.PageLocations = append(oi.PageLocations, format.PageLocation{
			Offset: offset + int64(p.at), CompressedPageSize: int32(p.size), FirstRowIndex: int64(p.first)})
		least, most := p.least, p.most
		if c.desc.Type == correlate.ColString {
			least, most = shortLeast(least), shortMost(most)
		}
		empty := p.nulls == p.rows
		if !empty && p.least == nil {
			ci = nil
		}
		if ci == nil {
			continue
		}
		ci.NullPages = append(ci.NullPages, empty)
		ci.NullCounts = append(ci.NullCounts, int64(p.nulls))
		ci.MinValues = append(ci.MinValues, least)
		ci.MaxValues = append(ci.MaxValues, most)
		if empty {
			continue
		}
		if before != nil {
			rising = rising && !c.less(p.least, before.least) && !c.less(p.most, before.most)
			falling = falling && !c.less(before.least, p.least) && !c.less(before.most, p.most)
		}
		before = p
	}
	if ci != nil {
		switch {
		case rising:
			ci.BoundaryOrder = format.Ascending
		case falling:
			ci.BoundaryOrder = format.Descending
		}
	}
	return ci, oi
}

// indexText is how many bytes of a text the page index has.
const indexText = 16

// shortLeast returns a text that is not greater than s.
func shortLeast(s []byte) []byte {
	if len(s) <= indexText {
		return s
	}
	n := indexText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// shortMost returns a text that is not less than s, s if no short one is found.
func shortMost(s []byte) []byte {
	if len(s) <= indexText {
		return s
	}
	short := bytes.Clone(shortLeast(s))
	for i := len(short) - 1; i >= 0; i-- {
		if b := short[i]; b < 0x7f { // so is b + 1 a character
			short[i] = b + 1
			return short[:i+1]
		}
	}
	return s
}

func lessOf(t correlate.ColumnType) func(a, b []byte) bool {
	switch t {
	case correlate.ColString, correlate.ColBool, correlate.ColPlainBool:
		return func(a, b []byte) bool { return bytes.Compare(a, b) < 0 }
	}
	order := orderOf(t)
	return func(a, b []byte) bool {
		return order.less(binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b))
	}
}
