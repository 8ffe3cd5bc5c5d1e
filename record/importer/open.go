package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that one compressed input may ask for.
const maxWindow = 128 << 20 // zstd --long=27

// maxLayers bounds compression within compression.
const maxLayers = 3

// Stream is an opened input: its first bytes can be looked at without being
// taken from R.
type Stream struct {
	Name string
	Head []byte    // the first SniffLen bytes, or all there is
	R    io.Reader // from the first byte on, decompressed
	At   io.ReaderAt
	Size int64
	Dir  fs.FS // the input, if it is a folder; Head is empty then

	member string      // of the first archive; "" once it was found
	at     io.ReaderAt // the file itself, compressed or not
	size   int64
	layers int // taken off
	read   *counter
	total  int64 // of read, 0 if unknown
	close  []func() error
}

// isFolder is the one line for a folder where a file is needed.
func isFolder(path string) error {
	return &Error{Name: path, Offset: -1, Err: errors.New("is a directory"),
		Remedy: "name a trace file in it, or a folder of raw ftrace pages (header_page, events, cpu0.raw …)"}
}

// noReader is the content of a folder.
type noReader struct{ err error }

func (n noReader) Read([]byte) (int, error) { return 0, n.err }

// OpenStream opens a file, a folder, or standard input for "-", and takes off
// gzip, zstd, zip and tar, recognised by content. The error names the file and
// what to do.
func OpenStream(path string) (*Stream, error) { return OpenMember(path, "") }

// OpenMember is OpenStream for a member of a zip or tar archive. An archive
// that holds one file needs no name.
func OpenMember(path, member string) (*Stream, error) {
	if path == "-" {
		s := &Stream{Name: "standard input", R: os.Stdin, member: member}
		if st, err := os.Stdin.Stat(); err == nil && st.Mode().IsRegular() {
			s.total = st.Size() // or less, if something was read before
		}
		return newStream(s)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, openError(path, err)
	}
	if st.IsDir() {
		f.Close()
		c := new(counter)
		return &Stream{Name: path, R: noReader{isFolder(path)}, Dir: countedFS{os.DirFS(path), c}, read: c}, nil
	}
	s := &Stream{Name: path, R: f, member: member, read: new(counter)}
	if st.Mode().IsRegular() {
		s.at, s.size, s.total = countedAt{f, s.read}, st.Size(), st.Size()
	}
	if s, err = newStream(s); err != nil {
		f.Close()
		return nil, err
	}
	if s.layers == 0 {
		s.At, s.Size = s.at, s.size
	}
	s.close = append(s.close, f.Close)
	return s, nil
}

func openError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	e := &Error{Name: path, Offset: -1, Err: err}
	switch st, serr := os.Stat(path); {
	case errors.Is(err, fs.ErrPermission):
		e.Remedy = "check its owner and mode"
	case serr == nil && st.Mode()&fs.ModeSocket != 0:
		e.Err, e.Remedy = errors.New("is a socket"), "give what comes from it on standard input"
	}
	return e
}

// NewStream wraps a reader as OpenStream does a file. It does not close r.
func NewStream(name string, r io.Reader) (*Stream, error) {
	return newStream(&Stream{Name: name, R: r})
}

func newStream(s *Stream) (*Stream, error) {
	if s.read == nil {
		s.read = new(counter)
	}
	s.R = countedReader{s.R, s.read}
	if err := s.peel(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// peel takes layers off until the head is that of a trace.
func (s *Stream) peel() error {
	for range maxLayers + 1 {
		br := bufio.NewReaderSize(s.R, SniffLen)
		head, err := br.Peek(SniffLen)
		if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
			e := &Error{Name: s.Name, Offset: -1, Err: err}
			if s.layers > 0 && !errors.As(err, &e) {
				e.Remedy = fetchAgain
			}
			return e
		}
		s.Head, s.R = head, br
		more, err := s.unpack(br)
		switch {
		case err != nil:
			return err
		case more:
			s.layers++
		case s.member != "":
			return &Error{Name: s.Name, Offset: 0, Err: errors.New("is no archive that could have members"), Remedy: "leave --member out"}
		case len(head) == 0:
			return &Error{Name: s.Name, Offset: -1, Err: errors.New("is empty"), Remedy: "there is nothing to read"}
		default:
			return nil
		}
	}
	return &Error{Name: s.Name, Offset: 0, Err: fmt.Errorf("is compressed more than %d times over", maxLayers), Remedy: "decompress it first"}
}

func (s *Stream) unpack(br *bufio.Reader) (bool, error) {
	switch {
	case isZip(s.Head):
		if s.layers > 0 {
			s.at = nil // not the file itself
		}
		return true, s.openZip()
	case isTar(s.Head):
		return true, s.openTar(br)
	case bytes.HasPrefix(s.Head, []byte{0x1f, 0x8b}):
		return true, s.openPacked("gzip", br, func(r io.Reader) (io.Reader, error) {
			z, err := newGzipReader(r)
			if err != nil {
				return nil, err
			}
			s.close = append(s.close, z.Close)
			return z, nil
		})
	case bytes.HasPrefix(s.Head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return true, s.openPacked("zstd", br, func(r io.Reader) (io.Reader, error) {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
			if err == nil {
				s.close = append(s.close, func() error { z.Close(); return nil })
			}
			return z, err
		})
	}
	return false, nil
}

func (s *Stream) openPacked(what string, r io.Reader, open func(io.Reader) (io.Reader, error)) error {
	u, err := newUnpacker(what, r, open)
	if err != nil {
		return &Error{Name: s.Name, Offset: -1, Err: err, Remedy: fetchAgain}
	}
	s.R = u
	return nil
}

const fetchAgain = "fetch the file again"

// Close releases the input.
func (s *Stream) Close() error {
	var first error
	for i := range s.close {
		if err := s.close[i](); first == nil {
			first = err
		}
	}
	s.close = nil
	return first
}

// Detect returns the one format that claims the stream, or the named one if
// name is not empty. It returns an error that wraps [ErrUnknownFormat] and
// lists what is known when none does.
func Detect(s *Stream, formats []Format, name string) (*Format, error) {
	for i := range formats {
		f := &formats[i]
		switch {
		case name != "" && name != f.Name:
		case s.Dir != nil:
			if f.SniffDir != nil && f.SniffDir(s.Dir) {
				return f, nil
			}
			if name != "" {
				return nil, isFolder(s.Name)
			}
		case name != "" || f.Sniff(s.Head):
			return f, nil
		}
	}
	if s.Dir != nil && name == "" {
		return nil, isFolder(s.Name)
	}
	var names []string
	for _, f := range formats {
		if !f.Refused {
			names = append(names, f.Name)
		}
	}
	known := strings.Join(names, ", ")
	if name != "" {
		return nil, fmt.Errorf("%w: %q; known are %s", ErrUnknownFormat, name, known)
	}
	remedy := "if it is a damaged one, name what it is: --from " + known
	for _, k := range knownForeign {
		if !bytes.HasPrefix(s.Head, k.magic) {
			continue
		}
		if s.layers > 0 {
			return nil, &Error{Name: s.Name, Offset: -1, Err: errors.New("holds a file that " + k.what), Remedy: "take it out, then " + k.remedy}
		}
		return nil, &Error{Name: s.Name, Offset: 0, Err: errors.New(k.what), Remedy: k.remedy}
	}
	return nil, &Error{Name: s.Name, Offset: 0, Err: ErrUnknownFormat, Remedy: remedy}
}

// Files that people try and that have a way in of their own.
var knownForeign = []struct {
	magic        []byte
	what, remedy string
}{
	{[]byte("PERFFILE"), "is perf.data of an old perf, a binary form", "turn it into text: perf script -i FILE > out.txt"},
	{[]byte("PERFILE2"), "is perf.data, a binary form of perf", "turn it into text: perf script -i FILE > out.txt"},
	{[]byte("2ELIFREP"), "is perf.data of a machine with the other byte order, a binary form of perf", "turn it into text: perf script -i FILE > out.txt"},
	{[]byte("\xff\xfe"), "is UTF-16 text, as PowerShell writes it", "turn it into UTF-8: iconv -f UTF-16 -t UTF-8 FILE > out.txt"},
	{[]byte("\xfe\xff"), "is UTF-16 text", "turn it into UTF-8: iconv -f UTF-16 -t UTF-8 FILE > out.txt"},
	{[]byte("\xfd7zXZ\x00"), "is compressed by xz, which is not read", "unpack it: xz -dk FILE"},
	{[]byte("BZh"), "is compressed by bzip2, which is not read", "unpack it: bzip2 -dk FILE"},
	{[]byte("\x04\x22\x4d\x18"), "is compressed by lz4, which is not read", "unpack it: lz4 -d FILE"},
	{[]byte("LZIP"), "is compressed by lzip, which is not read", "unpack it: lzip -dk FILE"},
	{[]byte("\x1f\x9d"), "is compressed by compress, which is not read", "unpack it: uncompress FILE"},
	{[]byte("7z\xbc\xaf\x27\x1c"), "is a 7z archive, which is not read", "unpack it: 7z x FILE"},
	{[]byte("Rar!\x1a\x07"), "is a rar archive, which is not read", "unpack it: unrar x FILE"},
	{[]byte("PAR1"), "is a Parquet table, as exports write them; it is no trace", "name the log or trace that it was made of"},
	{[]byte("\x7fELF"), "is a program or library, not a trace", "record it with: gpurec record -- FILE"},
}

// OpenReader opens the input's events in the format f.
func (s *Stream) OpenReader(f *Format, o Options) (Reader, error) {
	return f.Open(Input{Name: s.Name, R: s.R, At: s.At, Size: s.Size, Dir: s.Dir}, o)
}
