package importer

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A zip or tar archive is read as the one file in it, or as the member that is
// named. A zip needs a plain file, since its directory stands at its end; a
// tar can come through a pipe: that it holds more is then found at the end.

// ErrSeveral says that an archive holds more than the file that is read.
var ErrSeveral = errors.New("holds several files")

var errNoMember = errors.New("holds no such member")

// zipEncrypted is the bit of a member's flags that says that it is.
const zipEncrypted = 1

const nameMember = "name one with --member"

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isTar knows POSIX and GNU archives by the mark in their first header.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// memberList is the remedy that lists what an archive holds.
func memberList(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s: %s, … (%d in all)", nameMember, strings.Join(names[:most], ", "), len(names))
	}
	return nameMember + ": " + strings.Join(names, ", ")
}

func (s *Stream) openZip() error {
	if s.at == nil {
		return &Error{Name: s.Name, Offset: 0, Err: errors.New("is a zip archive in a pipe or in another archive"), Remedy: "save it as a file, or unpack it first"}
	}
	z, err := zip.NewReader(s.at, s.size)
	if err != nil {
		return &Error{Name: s.Name, Offset: 0, Err: err, Remedy: "the archive is damaged: fetch it again"}
	}
	var names []string
	var pick *zip.File
	for _, f := range z.File {
		if f.FileInfo().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") && f.Name != s.member {
			continue // what macOS adds beside each file is none of them
		}
		names = append(names, f.Name)
		if s.member == "" || f.Name == s.member {
			pick = f
		}
	}
	switch {
	case s.member == "" && len(names) > 1:
		return &Error{Name: s.Name, Offset: -1, Err: ErrSeveral, Remedy: memberList(names)}
	case pick == nil && len(names) == 0:
		return &Error{Name: s.Name, Offset: -1, Err: errors.New("holds no file"), Remedy: "there is nothing to read"}
	case pick == nil:
		return &Error{Name: s.Name, Offset: -1, Err: errNoMember, Remedy: memberList(names)}
	}
	if pick.Flags&zipEncrypted != 0 {
		return &Error{Name: s.Name, Offset: -1, Err: fmt.Errorf("member %s is encrypted", pick.Name), Remedy: "unpack it with its password: unzip FILE"}
	}
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	r, err := pick.Open()
	if err != nil {
		return &Error{Name: s.Name, Offset: -1, Err: fmt.Errorf("member %s: %w", pick.Name, err), Remedy: "unpack it with another program"}
	}
	s.R, s.member = &unpacker{what: "zip", r: r, in: packed{n: int64(min(pick.CompressedSize64, 1<<62))}}, ""
	s.close = append(s.close, r.Close)
	return nil
}

// tarMember reads one member of a tar archive. Where none was named it looks,
// at the member's end, whether others follow: they would go unread.
type tarMember struct {
	archive string
	t       *tar.Reader
	name    string
	only    bool // no member was named
	err     error
}

func (s *Stream) openTar(r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			e := &Error{Name: s.Name, Offset: -1, Err: errors.New("holds no file"), Remedy: "there is nothing to read"}
			if s.member != "" {
				e.Err, e.Remedy = errNoMember, "list them with tar tf"
			}
			return e
		}
		if err != nil {
			return &Error{Name: s.Name, Offset: -1, Err: fmt.Errorf("tar: %w", err), Remedy: "the archive is damaged: fetch it again"}
		}
		if h.Typeflag == tar.TypeReg && (s.member == "" || h.Name == s.member) {
			s.R = &tarMember{archive: s.Name, t: t, name: h.Name, only: s.member == ""}
			s.member = ""
			return nil
		}
	}
}

func (m *tarMember) Read(p []byte) (n int, err error) {
	if m.err != nil {
		return 0, m.err // what peeked before may have forgotten it
	}
	n, m.err = m.t.Read(p)
	if errors.Is(m.err, io.EOF) && m.only {
		m.err = m.after()
	}
	return n, m.err
}

// after looks for what follows the member.
func (m *tarMember) after() error {
	for {
		h, err := m.t.Next()
		if err != nil {
			return io.EOF // damage behind the last member costs nothing
		}
		if h.Typeflag == tar.TypeReg {
			return &Error{Name: m.archive, Offset: -1, Err: fmt.Errorf("%w: %s was read, %s and what follows was not", ErrSeveral, m.name, h.Name), Remedy: nameMember}
		}
	}
}
