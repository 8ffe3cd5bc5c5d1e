package tracedat

import (
	"errors"
	"io"
	"os"
)

// unknownSize is the size of an input that has no end yet.
const unknownSize = 1 << 62

// spool gives random access to a pipe: what was read of it lies in a temporary
// file without a name. It reads no further than it is asked to.
type spool struct {
	r    io.Reader
	f    *os.File
	have int64
	err  error
}

func newSpool(r io.Reader) (*spool, error) {
	f, err := os.CreateTemp("", "gpurec-spool-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &spool{r: r, f: f}, nil
}

// ReadAt is io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if need := off + int64(len(p)) - s.have; need > 0 && s.err == nil {
		var n int64
		n, s.err = io.CopyN(s.f, s.r, need)
		s.have += n
	}
	if off >= s.have {
		return 0, s.end()
	}
	n, err := s.f.ReadAt(p[:min(int64(len(p)), s.have-off)], off)
	if err == nil && n < len(p) {
		err = s.end()
	}
	return n, err
}

func (s *spool) end() error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return io.EOF
	}
	return s.err
}

func (s *spool) close() error { return s.f.Close() }
