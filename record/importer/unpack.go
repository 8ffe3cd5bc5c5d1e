package importer

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Bounds of what a compressed input may do: unpack to a multiple of its size
// that no trace has, once it has become large, or give nothing for long.
const (
	maxRatio = 300
	bombSize = 1 << 30
	maxQuiet = 16 << 20 // compressed bytes that give nothing
)

var (
	errBomb  = fmt.Errorf("unpacks to more than %d times its size, as no trace does", maxRatio)
	errQuiet = fmt.Errorf("goes on for %d MiB that unpack to nothing", maxQuiet>>20)
)

// unpacker reads a decompressor within those bounds, and says in whose data
// an error is.
type unpacker struct {
	what string // "gzip"
	r    io.Reader
	in   packed
	out  int64
	err  error
}

// packed is what the decompressor reads.
type packed struct {
	r       io.Reader
	n, mark int64 // bytes read; those when something was unpacked last
}

func (p *packed) Read(b []byte) (int, error) {
	if p.n-p.mark > maxQuiet {
		return 0, errQuiet
	}
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
}

// newUnpacker begins to unpack r by what open returns.
func newUnpacker(what string, r io.Reader, open func(io.Reader) (io.Reader, error)) (*unpacker, error) {
	u := &unpacker{what: what, in: packed{r: r}}
	var err error
	if u.r, err = open(&u.in); err != nil {
		return nil, u.name(err)
	}
	return u, nil
}

func (u *unpacker) Read(b []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.r.Read(b)
	if n > 0 {
		u.out += int64(n)
		u.in.mark = u.in.n
	}
	if u.out > bombSize && u.out/maxRatio > u.in.n {
		err = errBomb
	}
	if err != nil {
		u.err = u.name(err)
	}
	return n, u.err
}

// name says what an error of a decompressor means. Errors of what is below it
// stay as they are.
func (u *unpacker) name(err error) error {
	var outer *Error
	switch {
	case err == io.EOF, errors.As(err, &outer):
		return err
	case errors.Is(err, errBomb), errors.Is(err, errQuiet):
		return fmt.Errorf("%s data %w", u.what, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s data ends early: %w", u.what, err)
	case errors.Is(err, gzip.ErrHeader) && u.out > 0:
		return errors.New("gzip data is followed by something else")
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("zstd data wants a window of more than %d MiB: %w", maxWindow>>20, err)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return fmt.Errorf("%s data is damaged: %w", u.what, err)
	}
	return fmt.Errorf("%s data cannot be read: %w", u.what, err)
}
