package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// The module's files: with the tracepoints of Linux 6.17, and without.
const (
	ModuleNewer  = "mockgpu.ko"
	ModuleLegacy = "mockgpu-legacy.ko"
)

// Module builds both forms of the mock module for k, with BTF, unless the cache
// has them, and returns their directory.
func (l *Lab) Module(ctx context.Context, k *Kernel) (string, error) {
	source := filepath.Join(l.Source, "mockgpu")
	key, err := hashFiles(source)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(k.Dir, "built", key)
	if _, err := os.Stat(filepath.Join(dir, ModuleNewer)); err == nil {
		return dir, nil
	}
	l.Log("build mockgpu for %s", k.Release)
	if err := pointMakefiles(k); err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Join(k.Dir, "built")); err != nil { // of other sources
		return "", err
	}
	work := filepath.Join(k.Dir, "build")
	defer os.RemoveAll(work)
	for name, newer := range map[string]string{ModuleLegacy: "n", ModuleNewer: "y"} {
		if err := buildModule(ctx, k, source, work, newer); err != nil {
			return "", fmt.Errorf("build %s for %s: %w", name, k.Release, err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.Rename(filepath.Join(work, "mockgpu.ko"), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func buildModule(ctx context.Context, k *Kernel, source, work, newer string) error {
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		return err
	}
	headers := filepath.Join(k.Dir, "usr", "src", "linux-headers-"+k.Release)
	if _, err := run(ctx, "", "make", "-s", "-j2", "-C", headers, "M="+work, "NEWER="+newer, "modules"); err != nil {
		return err
	}
	ko := filepath.Join(work, "mockgpu.ko")
	// The kernel's build leaves the types out, as there is no vmlinux here.
	if _, err := run(ctx, "", "pahole", "-J", "--btf_gen_floats", "--btf_base", filepath.Join(k.Dir, "vmlinux.btf"), ko); err != nil {
		return err
	}
	_, err := run(ctx, "", "strip", "--strip-debug", ko)
	return err
}

var includeLine = regexp.MustCompile(`(?m)^include /.*?/?usr/src/`)

// pointMakefiles makes Debian's Makefiles, which name /usr/src, work in the cache.
func pointMakefiles(k *Kernel) error {
	name := filepath.Join(k.Dir, "usr", "src", "linux-headers-"+k.Release, "Makefile")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text = includeLine.ReplaceAllLiteral(text, []byte("include "+k.Dir+"/usr/src/"))
	return os.WriteFile(name, text, 0o644)
}

// hashFiles is a name for the contents of a directory's files.
func hashFiles(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*")) // sorted
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(name), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
