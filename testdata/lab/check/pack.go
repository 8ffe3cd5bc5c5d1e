package check

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxPacked bounds what Unpack writes of one file.
const maxPacked = 64 << 20

// Pack writes the results of a run to one file, NAME.tar.gz: what tests compare
// where there is no QEMU. The same results give the same bytes.
func Pack(dir, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	for _, close := range []func() error{w.Close, z.Close, f.Close} {
		if e := close(); err == nil {
			err = e
		}
	}
	return err
}

// Unpack is the reverse of Pack, into an existing directory.
func Unpack(from, dir string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if !filepath.IsLocal(h.Name) || h.Size > maxPacked {
			return fmt.Errorf("%s: %q is no file of a run", from, h.Name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		to := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
}
