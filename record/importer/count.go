package importer

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// What is read is counted where it comes from the file, before decompression:
// so much of a known size is an honest measure of what is left.

// counter counts bytes read. Reading adds to it, any goroutine may look.
type counter struct {
	n     atomic.Int64
	blind atomic.Bool // part is read past it
}

type countedReader struct {
	r io.Reader
	c *counter
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.c.n.Add(int64(n))
	return n, err
}

type countedAt struct {
	io.ReaderAt
	c *counter
}

func (r countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.c.n.Add(int64(n))
	return n, err
}

// File returns the plain file that At reads, nil if there is none. What is
// read through it is not counted: Progress knows nothing from then on.
func (in Input) File() *os.File {
	at := in.At
	if c, ok := at.(countedAt); ok {
		at = c.ReaderAt
		c.c.blind.Store(true)
	}
	f, _ := at.(*os.File)
	return f
}

// countedFS counts what is read of a folder's files.
type countedFS struct {
	fs.FS
	c *counter
}

func (d countedFS) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFSFile{f, d.c}, nil
}

func (d countedFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.FS, name) }
func (d countedFS) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(d.FS, name) }

type countedFSFile struct {
	fs.File
	c *counter
}

func (f countedFSFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.c.n.Add(int64(n))
	return n, err
}

// Counted returns at, with what is read of it counted as read of s.
func (s *Stream) Counted(at io.ReaderAt) io.ReaderAt { return countedAt{at, s.read} }

// Progress returns how many bytes of the file or folder were read so far, as
// they lie there, and how many there are: 0 if that cannot be known, as of a
// pipe. What is read twice counts twice. Any goroutine may call it at any time.
func (s *Stream) Progress() (read, size int64) {
	if s.read.blind.Load() {
		return 0, 0
	}
	return s.read.n.Load(), s.total
}
