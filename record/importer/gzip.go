package importer

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipReader reads the members of a gzip file one after the other, up to its
// end or to zeros that fill it up: tapes, tar and dd pad to whole blocks, and
// gzip(1) passes over that too.
type gzipReader struct {
	br  *bufio.Reader // a ByteReader: nothing behind a member is read with it
	z   *gzip.Reader
	err error
}

func newGzipReader(r io.Reader) (*gzipReader, error) {
	g := &gzipReader{br: bufio.NewReader(r)}
	var err error
	if g.z, err = gzip.NewReader(g.br); err != nil {
		return nil, err
	}
	g.z.Multistream(false)
	return g, nil
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for g.err == nil {
		n, err := g.z.Read(p)
		if errors.Is(err, io.EOF) {
			err = g.next()
		}
		g.err = err
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, g.err
}

// next begins the next member; io.EOF if there is none.
func (g *gzipReader) next() error {
	head, err := g.br.Peek(2)
	switch {
	case len(head) == 0:
		return err // the end, or why it cannot be read
	case head[0] == 0:
		return g.padding()
	case len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b:
		return gzip.ErrHeader
	}
	if err := g.z.Reset(g.br); err != nil {
		return err
	}
	g.z.Multistream(false)
	return nil
}

// padding reads zeros to the end.
func (g *gzipReader) padding() error {
	for {
		b, err := g.br.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return gzip.ErrHeader
		}
	}
}

func (g *gzipReader) Close() error { return g.z.Close() }
