package parquet

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpurec/gpurec/correlate"
	"github.com/gpurec/gpurec/export"
)

// outputDir is a directory that appears whole: it is filled under a temporary
// name beside the final one, and renamed.
type outputDir struct {
	final string
	tmp   string   // "" before create and after commit or abort
	lock  *os.File // tmp, locked while this process works in it
}

func newOutputDir(path string) (*outputDir, error) {
	final, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if err := ownLink(final); err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Clean(path), err)
	}
	// A link stays, what it points to is replaced.
	if real, err := filepath.EvalSymlinks(final); err == nil {
		final = real
	}
	if err := replaceable(final); err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Clean(path), export.PlainError(err))
	}
	return &outputDir{final: final}, nil
}

// ownLink refuses the link of another user: who may make links here could lead
// root's export anywhere.
func ownLink(path string) error {
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&fs.ModeSymlink == 0 {
		return nil // what there is to say comes when it is written
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("is a symbolic link of user %d: not followed", s.Uid)
	}
	return nil
}

// replaceable says why what stands at dir must not be replaced, if so.
func replaceable(dir string) error {
	if here, err := os.Getwd(); err == nil && here == dir {
		return errors.New("it is the current directory, which would be another one afterwards; name a directory in it")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if st, serr := os.Stat(dir); serr == nil && !st.IsDir() {
		return errors.New("it is a file, and Parquet is written as a directory; choose another path or remove it")
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !exportName(e.Name()) {
			return fmt.Errorf("it holds %q, which is no part of an export, and would be lost; choose another directory or an empty one", e.Name())
		}
	}
	if !hasMark(filepath.Join(dir, "views.sql")) {
		return errors.New("it holds Parquet files but no views.sql of an earlier export; choose another directory or an empty one")
	}
	return nil
}

// exportName reports whether an export of this or an earlier version writes such a file.
func exportName(name string) bool {
	table, ok := strings.CutSuffix(name, ".parquet")
	return name == "views.sql" || ok && correlate.TableByName(table) != nil
}

func hasMark(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(viewsMark))
	n, _ := f.Read(b)
	return string(b[:n]) == viewsMark
}

// create makes the temporary directory.
func (d *outputDir) create() error {
	d.removeStale()
	tmp := d.sibling("tmp")
	err := os.Mkdir(tmp, 0o777)
	if errors.Is(err, fs.ErrNotExist) {
		return export.NoDirectory(filepath.Dir(d.final))
	}
	if err != nil {
		return err
	}
	d.tmp = tmp
	// Where there are no locks, as on some network file systems, nothing is
	// taken for stale either.
	d.lock, _ = lockDir(tmp)
	return nil
}

// lockDir locks a directory; the lock ends with the process, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// staleAfter keeps directories safe that have just been made and not yet locked.
const staleAfter = time.Minute

// removeStale removes what exports to the same output that were killed left
// beside it. What cannot be removed stays: it takes only room.
func (d *outputDir) removeStale() {
	dir := filepath.Dir(d.final)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // create says why
	}
	prefix := filepath.Base(export.Beside(d.final, "tmp", 0))
	prefix = prefix[:len(prefix)-8]
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if st, err := e.Info(); err != nil || time.Since(st.ModTime()) < staleAfter {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if lock, err := lockDir(path); err == nil {
			os.RemoveAll(path)
			lock.Close()
		}
	}
}

func (d *outputDir) unlock() {
	if d.lock != nil {
		d.lock.Close()
		d.lock = nil
	}
}

func (d *outputDir) sibling(what string) string {
	return export.Beside(d.final, what, rand.Uint32())
}

func (d *outputDir) writeViews() error {
	return os.WriteFile(filepath.Join(d.tmp, "views.sql"), []byte(viewsSQL()), 0o666)
}

// size is how many bytes the files take.
func (d *outputDir) size() (sum int64, err error) {
	entries, err := os.ReadDir(d.tmp)
	for _, e := range entries {
		st, serr := e.Info()
		if serr != nil {
			return 0, serr
		}
		sum += st.Size()
	}
	return sum, err
}

// commit gives the directory its name. What stood there is moved aside first,
// and back again if that name cannot be had.
func (d *outputDir) commit() error {
	// It may have changed since the export began.
	if err := replaceable(d.final); err != nil {
		return err
	}
	old := d.sibling("old")
	err := os.Rename(d.final, old)
	if errors.Is(err, fs.ErrNotExist) {
		old = ""
	} else if err != nil {
		return err
	}
	if err := os.Rename(d.tmp, d.final); err != nil {
		if old != "" {
			if back := os.Rename(old, d.final); back != nil {
				err = fmt.Errorf("%w (what stood there is now %s)", export.PlainError(err), old)
			}
		}
		return err
	}
	d.tmp = ""
	d.unlock()
	if old != "" {
		return os.RemoveAll(old)
	}
	return nil
}

// abort removes what was written.
func (d *outputDir) abort() error {
	d.unlock()
	if d.tmp == "" {
		return nil
	}
	tmp := d.tmp
	d.tmp = ""
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("%s stays behind: %w; remove it", tmp, export.PlainError(err))
	}
	return nil
}
