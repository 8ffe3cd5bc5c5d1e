package perfetto

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zlib"
)

const (
	fieldCompressed = 50
	// maxCompressed is how much may lie in one packet, before compression:
	// readers take so much at once.
	maxCompressed = 512 << 10
)

// compressor writes packets as one packet that holds them deflated, with
// zlib's header, as Perfetto's own tracing service does.
type compressor struct {
	z    *zlib.Writer
	body bytes.Buffer
	head []byte
}

func newCompressor() *compressor { return &compressor{z: zlib.NewWriter(nil)} }

// write writes whole packets. A single one that is too large stands as it is.
func (c *compressor) write(w io.Writer, packets []byte) error {
	if len(packets) >= maxCompressed {
		_, err := w.Write(packets)
		return err
	}
	c.body.Reset()
	c.z.Reset(&c.body)
	if _, err := c.z.Write(packets); err != nil {
		return err
	}
	if err := c.z.Close(); err != nil {
		return err
	}
	n := uint64(c.body.Len())
	b := binary.AppendUvarint(c.head[:0], 1<<3|2)
	b = binary.AppendUvarint(b, uint64(2+uvarintLen(n))+n)
	b = binary.AppendUvarint(b, fieldCompressed<<3|2)
	c.head = binary.AppendUvarint(b, n)
	if _, err := w.Write(c.head); err != nil {
		return err
	}
	_, err := w.Write(c.body.Bytes())
	return err
}
