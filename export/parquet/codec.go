package parquet

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdWindow is twice a page: levels and lengths come beside its values.
const zstdWindow = 2 * pageBytes

// compressor compresses pages of all files. Its encoders are kept, and their
// window is that of a page.
var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderConcurrency(maxWriters), zstd.WithEncoderCRC(false))
})

// storedBlock is how many bytes a block of a zstd frame may hold.
const storedBlock = 128 << 10

// appendStored appends src as a zstd frame that holds it as it is (RFC 8878,
// 3.1.1): readers expect all pages of a column to be compressed alike.
func appendStored(dst, src []byte) []byte {
	const (
		singleSegment = 1 << 5 // no window: it is as large as the content
		sizeOf4Bytes  = 2 << 6
	)
	dst = binary.LittleEndian.AppendUint32(dst, 0xfd2fb528)
	dst = append(dst, singleSegment|sizeOf4Bytes)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	for {
		block := src[:min(len(src), storedBlock)]
		src = src[len(block):]
		head := uint32(len(block)) << 3 // bits 1 and 2: a raw block
		if len(src) == 0 {
			head |= 1 // the last one
		}
		dst = append(dst, byte(head), byte(head>>8), byte(head>>16))
		dst = append(dst, block...)
		if len(src) == 0 {
			return dst
		}
	}
}
