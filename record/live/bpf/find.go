package bpf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mapping is a line of /proc/PID/maps that maps code of a file.
type mapping struct {
	span         string // "7f12-7f34", the name in map_files
	path         string
	major, minor uint32
	ino          uint64
}

// codeMappings reads the executable mappings of files from the text of /proc/PID/maps.
func codeMappings(r io.Reader) []mapping {
	var out []mapping
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 6 || len(f[1]) < 3 || f[1][2] != 'x' || !strings.HasPrefix(f[5], "/") {
			continue // data, anonymous memory, [vdso]
		}
		ma, mi, ok := strings.Cut(f[3], ":")
		major, err1 := strconv.ParseUint(ma, 16, 32)
		minor, err2 := strconv.ParseUint(mi, 16, 32)
		ino, err3 := strconv.ParseUint(f[4], 10, 64)
		if !ok || err1 != nil || err2 != nil || err3 != nil {
			continue // not a line of this file
		}
		_, path, _ := strings.Cut(sc.Text(), " /")
		out = append(out, mapping{span: f[0], path: "/" + strings.TrimSuffix(path, " (deleted)"), major: uint32(major), minor: uint32(minor), ino: ino})
	}
	return out
}

// isLibraryName reports whether a file name is one of a GPU library.
func isLibraryName(name string) bool {
	for _, p := range libraryPrefixes() {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// openMapping opens the file behind a mapping: through map_files, which also
// finds deleted and replaced files, else by its path in the process's root.
func openMapping(pid int, m mapping) (*os.File, error) {
	if f, err := os.Open(fmt.Sprintf("/proc/%d/map_files/%s", pid, m.span)); err == nil {
		return f, nil
	}
	return os.Open(fmt.Sprintf("/proc/%d/root%s", pid, m.path))
}

// scanProcess probes the GPU libraries that a process has mapped.
func (s *Source) scanProcess(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	for _, m := range codeMappings(bytes.NewReader(text)) {
		if !isLibraryName(filepath.Base(m.path)) {
			continue // no GPU library
		}
		f, err := openMapping(pid, m)
		if err != nil {
			s.note(fmt.Sprintf("open %s of process %d: %v", m.path, pid, err))
			continue
		}
		_, err = s.attachFile(f, m.path)
		f.Close()
		if err != nil {
			s.note(err.Error())
			continue
		}
		s.markKnown(m.major<<20|m.minor, m.ino)
	}
	return nil
}

// systemLibraries lists the GPU libraries that the dynamic linker's cache
// names, for x86-64.
func systemLibraries(cachePath string) []string {
	data, err := os.ReadFile(cachePath)
	if err != nil {
		return nil // no cache: musl, or a minimal container
	}
	var out []string
	seen := map[string]bool{}
	for _, e := range parseLDCache(data) {
		if !isLibraryName(e.name) || seen[e.path] || e.flags&0xff00 != ldX8664 {
			continue // another library, or another ABI
		}
		seen[e.path] = true
		out = append(out, e.path)
	}
	return out
}

const (
	ldMagic = "glibc-ld.so.cache1.1"
	ldX8664 = 0x0300 // FLAG_X8664_LIB64
)

type ldEntry struct {
	flags      uint32
	name, path string
}

// parseLDCache reads the entries of /etc/ld.so.cache in the format of glibc
// 2.2 and later (sysdeps/generic/dl-cache.h): a header of 48 bytes, entries of
// 24, offsets of strings from the header's start. Nonsense gives fewer entries.
func parseLDCache(data []byte) []ldEntry {
	at := bytes.Index(data, []byte(ldMagic))
	if at < 0 {
		return nil
	}
	data = data[at:]
	if len(data) < 48 {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(data[20:]))
	n = min(n, (len(data)-48)/24)
	out := make([]ldEntry, 0, n)
	text := func(off uint32) string {
		if uint64(off) >= uint64(len(data)) {
			return ""
		}
		return cString(data[off:])
	}
	for i := range n {
		e := data[48+24*i:]
		out = append(out, ldEntry{
			flags: binary.LittleEndian.Uint32(e),
			name:  text(binary.LittleEndian.Uint32(e[4:])),
			path:  text(binary.LittleEndian.Uint32(e[8:])),
		})
	}
	return out
}
