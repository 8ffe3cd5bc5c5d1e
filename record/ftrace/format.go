package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Location says where a field's bytes are.
type Location uint8

// The locations.
const (
	LocInline  Location = iota // in place
	LocData                    // __data_loc: a word with length and offset from the record's start
	LocRelData                 // __rel_loc: the same, counted from the end of that word
)

// Field is one field of a tracepoint's record, as its format file gives it.
type Field struct {
	Name     string
	Type     string // as declared, without name and array brackets: "unsigned long", "struct dma_fence *"
	Offset   int
	Size     int // bytes in place: 4 for LocData and LocRelData
	Signed   bool
	Loc      Location
	Array    bool // declared with [..]
	Elem     int  // bytes of an element of an array, else Size
	String   bool // an array of char
	Pointer  bool
	ToRecEnd bool // of size 0: it runs to the end of the record
}

// Format is a parsed format file of a tracepoint: events/<system>/<name>/format.
type Format struct {
	System string // from the file's path, "" if unknown
	Name   string
	ID     int
	Common []Field // the fields that every event has
	Fields []Field // the event's own, in file order; names may repeat
	Print  string  // print fmt
	// Skipped holds the lines of fields that could not be understood.
	Skipped []string
}

// maxFormat bounds the text of a format file: real ones are below 64 KiB.
const maxFormat = 1 << 20

// ErrFormat is wrapped by every error of ParseFormat.
var ErrFormat = errors.New("not a tracepoint format")

// ParseFormat reads a format file. Offsets, sizes and signs come from the
// text; nothing is assumed about the length of the common part. A field that
// cannot be understood is put into Skipped and costs no other field.
func ParseFormat(system string, text []byte) (*Format, error) {
	if len(text) > maxFormat {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrFormat, maxFormat)
	}
	f := &Format{System: system, ID: -1}
	common := true
	inFormat := false
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), "\r\n")
		t := strings.TrimSpace(s)
		switch {
		case strings.HasPrefix(t, "name:"):
			f.Name = strings.TrimSpace(t[len("name:"):])
		case strings.HasPrefix(t, "ID:"):
			id, err := strconv.ParseUint(strings.TrimSpace(t[len("ID:"):]), 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%w: ID %q", ErrFormat, t)
			}
			f.ID = int(id)
		case strings.HasPrefix(t, "format:"):
			inFormat = true
		case strings.HasPrefix(t, "print fmt:"):
			f.Print = strings.TrimSpace(t[len("print fmt:"):])
		case inFormat && strings.HasPrefix(t, "field"):
			fd, err := parseField(t)
			if err != nil {
				f.Skipped = append(f.Skipped, t)
				break
			}
			if common {
				f.Common = append(f.Common, fd)
			} else {
				f.Fields = append(f.Fields, fd)
			}
		case inFormat && t == "" && len(f.Common) > 0:
			common = false
		}
	}
	if f.Name == "" || f.ID < 0 || !inFormat {
		return nil, fmt.Errorf("%w: it needs the lines name, ID and format", ErrFormat)
	}
	if common {
		f.splitCommon()
	}
	return f, nil
}

// formatID reads the number of a format file.
func formatID(text []byte) (int, error) {
	rest := text
	for range 4 { // it is in the second line
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if num, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("ID:")); ok {
			if id, err := strconv.ParseUint(string(bytes.TrimSpace(num)), 10, 16); err == nil {
				return int(id), nil
			}
		}
	}
	return 0, fmt.Errorf("%w: no ID in its first lines", ErrFormat)
}

// splitCommon divides fields by name, for files without the blank line.
func (f *Format) splitCommon() {
	all := f.Common
	f.Common = nil
	for _, fd := range all {
		if strings.HasPrefix(fd.Name, "common_") {
			f.Common = append(f.Common, fd)
		} else {
			f.Fields = append(f.Fields, fd)
		}
	}
}

// Field returns the first field of a name, common ones included, or nil.
func (f *Format) Field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	for i := range f.Common {
		if f.Common[i].Name == name {
			return &f.Common[i]
		}
	}
	return nil
}

// maxRecord bounds offsets and sizes in a format: a record fits a sub-buffer.
const maxRecord = 1 << 24

// parseField reads "field:DECL;	offset:N;	size:N;	signed:N;".
func parseField(line string) (Field, error) {
	var fd Field
	_, rest, ok := strings.Cut(line, ":")
	if !ok {
		return fd, ErrFormat
	}
	decl, rest, ok := strings.Cut(rest, ";")
	if !ok {
		return fd, ErrFormat
	}
	fd.Offset, fd.Size = -1, -1
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, ";")
		key, val, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(val))
		if err != nil || n < 0 || n > maxRecord {
			return fd, ErrFormat
		}
		switch key {
		case "offset":
			fd.Offset = n
		case "size":
			fd.Size = n
		case "signed":
			fd.Signed = n != 0
		}
	}
	if fd.Offset < 0 || fd.Size < 0 {
		return fd, ErrFormat
	}
	return fd, fd.declare(decl)
}

// declare fills in what the C declaration says.
func (fd *Field) declare(decl string) error {
	d := strings.TrimSpace(decl)
	switch {
	case strings.HasPrefix(d, "__data_loc "):
		fd.Loc, d = LocData, strings.TrimSpace(d[len("__data_loc "):])
	case strings.HasPrefix(d, "__rel_loc "):
		fd.Loc, d = LocRelData, strings.TrimSpace(d[len("__rel_loc "):])
	}
	count := 0
	if i := strings.LastIndexByte(d, '['); i >= 0 {
		j := strings.IndexByte(d[i:], ']')
		if j < 0 {
			return ErrFormat
		}
		fd.Array = true
		count, _ = strconv.Atoi(strings.TrimSpace(d[i+1 : i+j])) // a named constant is no number: Size tells
		// "char comm[16]" has the name before the bracket, "char[] name" after it.
		if after := strings.TrimSpace(d[i+j+1:]); after != "" {
			d = strings.TrimSpace(d[:i]) + " " + after
		} else {
			d = strings.TrimSpace(d[:i])
		}
	}
	i := strings.LastIndexAny(d, " *")
	if i < 0 || i == len(d)-1 {
		return ErrFormat
	}
	fd.Name = d[i+1:]
	fd.Type = strings.TrimSpace(d[:i+1])
	fd.Pointer = strings.HasSuffix(fd.Type, "*") && !fd.Array
	return fd.elements(count)
}

func (fd *Field) elements(count int) error {
	if fd.Loc != LocInline {
		if fd.Size != 4 {
			return ErrFormat
		}
		fd.Elem = typeSize(fd.Type)
	} else {
		fd.Elem = fd.Size
		if fd.Size == 0 { // older kernels write "char buf" for "char buf[]"
			fd.Array, fd.Pointer = true, false
		}
		if fd.Array {
			fd.Elem = typeSize(fd.Type)
			if count > 0 && fd.Size%count == 0 {
				fd.Elem = fd.Size / count
			}
			fd.ToRecEnd = fd.Size == 0
		}
	}
	switch strings.TrimPrefix(fd.Type, "const ") {
	case "char", "unsigned char", "signed char":
		fd.String = fd.Array && !strings.HasPrefix(fd.Type, "unsigned")
	}
	return nil
}

// typeSize guesses the bytes of an element from its C type, where the format
// gives only the size of the whole: 0 if it is not known.
func typeSize(t string) int {
	t = strings.TrimPrefix(t, "const ")
	switch t {
	case "char", "unsigned char", "signed char", "u8", "s8", "__u8", "__s8", "uint8_t", "int8_t", "bool", "_Bool":
		return 1
	case "short", "unsigned short", "u16", "s16", "__u16", "__s16", "uint16_t", "int16_t":
		return 2
	case "int", "unsigned int", "unsigned", "u32", "s32", "__u32", "__s32", "uint32_t", "int32_t":
		return 4
	case "long long", "unsigned long long", "u64", "s64", "__u64", "__s64", "uint64_t", "int64_t":
		return 8
	}
	return 0
}
