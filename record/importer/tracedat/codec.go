package tracedat

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// codec decompresses blocks.
type codec interface {
	// decode appends in, decompressed, to dst. size is what the file says it
	// comes to; more than that is an error.
	decode(dst, in []byte, size int) ([]byte, error)
	close()
}

// newCodec returns the codec of a name, nil if it is not known.
func newCodec(name string) codec {
	switch name {
	case "none":
		return plain{}
	case "zlib":
		return &zlibCodec{}
	case "zstd":
		// No options of the reader can fail that are set here.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxKallsyms), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil
		}
		return zstdCodec{d}
	}
	return nil
}

var errSize = errors.New("decompresses to another size than the file says")

type plain struct{}

func (plain) decode([]byte, []byte, int) ([]byte, error) {
	return nil, errors.New("is marked as compressed in a file without compression")
}
func (plain) close() {}

type zstdCodec struct{ d *zstd.Decoder }

func (z zstdCodec) decode(dst, in []byte, size int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(in); err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if h.HasFCS && h.FrameContentSize != uint64(size) {
		return nil, errSize
	}
	dst = grow(dst, size)
	out, err := z.d.DecodeAll(in, dst)
	switch {
	case err != nil:
		return nil, fmt.Errorf("zstd: %w", err)
	case len(out) != size:
		return nil, errSize
	}
	return out, nil
}

func (z zstdCodec) close() { z.d.Close() }

// grow returns an empty slice with room for exactly size bytes.
func grow(b []byte, size int) []byte {
	if cap(b) < size {
		return make([]byte, 0, size)
	}
	return b[:0:size]
}

type zlibCodec struct{ r io.ReadCloser }

func (z *zlibCodec) decode(dst, in []byte, size int) ([]byte, error) {
	var err error
	src := bytes.NewReader(in)
	if z.r == nil {
		z.r, err = zlib.NewReader(src)
	} else {
		err = z.r.(zlib.Resetter).Reset(src, nil)
	}
	if err != nil {
		z.r = nil
		return nil, fmt.Errorf("zlib: %w", err)
	}
	out := grow(dst, size)[:size]
	if _, err := io.ReadFull(z.r, out); err != nil {
		return nil, fmt.Errorf("zlib: %w", err)
	}
	var more [1]byte
	if n, err := z.r.Read(more[:]); n > 0 || !errors.Is(err, io.EOF) {
		return nil, errSize
	}
	return out, nil
}

func (z *zlibCodec) close() {}
