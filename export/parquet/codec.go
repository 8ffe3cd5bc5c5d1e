package parquet

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// pageCodec compresses pages as the library's codec does, with encoders that
// are kept and whose window is that of a page: the library's take 8 MiB each,
// and are made anew whenever garbage was collected.
type pageCodec struct {
	parquetzstd.Codec // what else a codec is asked for
	encoder           *zstd.Encoder
}

// zstdWindow is twice a page: levels and lengths come beside its values.
const zstdWindow = 2 * pageBytes

var codec = sync.OnceValues(func() (*pageCodec, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderConcurrency(maxWriters), zstd.WithEncoderCRC(false))
	return &pageCodec{encoder: e}, err
})

// Encode implements compress.Codec.
func (c *pageCodec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst[:0]), nil
}
