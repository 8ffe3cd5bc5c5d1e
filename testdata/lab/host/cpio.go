package host

import (
	"fmt"
	"io"
	"os"
	"path"
	"sort"
)

// file is an entry of the guest's first file system.
type file struct {
	path string // "bin/sh"
	from string // a file of the host
	link string // or what a symbolic link holds
	mode os.FileMode
}

// writeCPIO writes an archive in the form that the kernel takes as initramfs
// ("newc": Documentation/driver-api/early-userspace/buffer-format.rst), with the
// directories that files need and those named.
func writeCPIO(w io.Writer, files []file, dirs []string) error {
	c := cpio{w: w}
	need := map[string]bool{}
	for _, d := range dirs {
		need[d] = true
	}
	for _, f := range files {
		for d := path.Dir(f.path); d != "."; d = path.Dir(d) {
			need[d] = true
		}
	}
	all := make([]string, 0, len(need))
	for d := range need {
		all = append(all, d)
	}
	sort.Strings(all) // a directory before what lies in it
	for _, d := range all {
		c.entry(d, 0o040755, nil)
	}
	for _, f := range files {
		data := []byte(f.link)
		mode := uint32(0o120777)
		if f.link == "" {
			var err error
			if data, err = os.ReadFile(f.from); err != nil {
				return err
			}
			mode = 0o100000 | uint32(f.mode.Perm())
		}
		c.entry(f.path, mode, data)
	}
	c.entry("TRAILER!!!", 0, nil)
	return c.err
}

type cpio struct {
	w     io.Writer
	inode int
	err   error
}

func (c *cpio) entry(name string, mode uint32, data []byte) {
	c.inode++
	head := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	c.write([]byte(head))
	c.write(data)
}

// write writes b, padded to a multiple of four bytes.
func (c *cpio) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(append(b[:len(b):len(b)], make([]byte, (4-len(b)%4)%4)...))
	}
}
