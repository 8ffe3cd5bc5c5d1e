package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Kernel is a kernel in the cache.
//
//	vmlinuz       what boots
//	modules/      what the guest loads, uncompressed, and their order
//	vmlinux.btf   the types that a module's BTF builds on
//	usr/          headers, to build modules
type Kernel struct {
	Series  string // "6.12"
	Release string // as uname -r says it
	Version string // of the package
	Dir     string
}

// guestModules are what a guest needs beside what it depends on.
var guestModules = []string{"virtio_pci", "9pnet_virtio", "9p", "drm", "gpu-sched"}

const cacheLayout = 1 // of the directory; another number makes all cached kernels stale

type kernelStamp struct {
	Layout           int
	Release, Version string
}

// Kernel returns the newest kernel of a series that apt can give, else the
// newest one in the cache. An error is ErrUnavailable if there is neither.
func (l *Lab) Kernel(ctx context.Context, series string) (*Kernel, error) {
	k, err := l.newest(ctx, series)
	if err == nil {
		return k, nil
	}
	if k := l.cached(series); k != nil {
		l.Log("kernel %s: %v; use %s from the cache", series, err, k.Release)
		return k, nil
	}
	return nil, fmt.Errorf("kernel %s: %w: %w", series, ErrUnavailable, err)
}

func (l *Lab) newest(ctx context.Context, series string) (*Kernel, error) {
	k, err := l.resolve(ctx, series)
	if err != nil {
		return nil, err
	}
	if k.Release == "" { // never updated, or cleaned
		if err := l.apt(ctx, "", "update", "-qq"); err != nil {
			return nil, err
		}
		if k, err = l.resolve(ctx, series); err != nil {
			return nil, err
		}
	}
	if k.Release == "" {
		return nil, fmt.Errorf("apt knows no linux-image-%s.*-amd64", series)
	}
	if readStamp(k.Dir) == (kernelStamp{cacheLayout, k.Release, k.Version}) {
		return k, nil
	}
	if err = l.fetch(ctx, k); err == nil {
		return k, nil
	}
	// The lists may name what the mirror has replaced.
	if l.apt(ctx, "", "update", "-qq") != nil {
		return nil, err
	}
	if k, err = l.resolve(ctx, series); err != nil {
		return nil, err
	}
	return k, l.fetch(ctx, k)
}

func (l *Lab) resolve(ctx context.Context, series string) (*Kernel, error) {
	release, err := newestRelease(ctx, series)
	if err != nil || release == "" {
		return &Kernel{Series: series}, err
	}
	version, _, err := packageFacts(ctx, "linux-image-"+release)
	if err != nil {
		return nil, err
	}
	return &Kernel{Series: series, Release: release, Version: version, Dir: filepath.Join(l.Cache, release)}, nil
}

// cached is the newest kernel of a series that the cache has, or nil.
func (l *Lab) cached(series string) *Kernel {
	dirs, _ := filepath.Glob(filepath.Join(l.Cache, series+".*"))
	sort.Slice(dirs, func(i, j int) bool { return versionLess(filepath.Base(dirs[j]), filepath.Base(dirs[i])) })
	for _, dir := range dirs {
		if s := readStamp(dir); s.Layout == cacheLayout {
			return &Kernel{Series: series, Release: s.Release, Version: s.Version, Dir: dir}
		}
	}
	return nil
}

func readStamp(dir string) (s kernelStamp) {
	text, err := os.ReadFile(filepath.Join(dir, "stamp.json"))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return kernelStamp{}
	}
	return s
}

// fetch puts a kernel into the cache, under its name only when it is whole.
func (l *Lab) fetch(ctx context.Context, k *Kernel) error {
	if err := os.MkdirAll(l.Cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(l.Cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := l.unpack(ctx, k, work); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Release, err)
	}
	stamp, err := json.Marshal(kernelStamp{cacheLayout, k.Release, k.Version})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "stamp.json"), stamp, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(k.Dir); err != nil {
		return err
	}
	return os.Rename(work, k.Dir)
}

func (l *Lab) unpack(ctx context.Context, k *Kernel, dir string) error {
	headers := "linux-headers-" + k.Release
	_, depends, err := packageFacts(ctx, headers)
	if err != nil {
		return err
	}
	if err := l.download(ctx, dir, append(depends, headers)...); err != nil {
		return err
	}
	image := filepath.Join(dir, "image")
	if err := l.download(ctx, image, "linux-image-"+k.Release); err != nil {
		return err
	}
	defer os.RemoveAll(image)
	vmlinuz := filepath.Join(dir, "vmlinuz")
	if err := os.Rename(filepath.Join(image, "boot", "vmlinuz-"+k.Release), vmlinuz); err != nil {
		return err
	}
	if err := extractBTF(ctx, vmlinuz, filepath.Join(dir, "vmlinux.btf")); err != nil {
		return err
	}
	return closure(ctx, image, k.Release, filepath.Join(dir, "modules"))
}

// closure copies the guest's modules and what they depend on, uncompressed, and
// writes the order in which to load them.
func closure(ctx context.Context, root, release, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := run(ctx, "", "depmod", "-b", root, release); err != nil {
		return err
	}
	var order []string
	done := map[string]bool{}
	for _, m := range guestModules {
		out, err := run(ctx, "", "modprobe", "-d", root, "-S", release, "--show-depends", m)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(out), "\n") {
			f := strings.Fields(line)
			if len(f) < 2 || f[0] != "insmod" || done[f[1]] { // "builtin": nothing to load
				continue
			}
			done[f[1]] = true
			name := strings.TrimSuffix(filepath.Base(f[1]), ".xz")
			if err := copyModule(ctx, f[1], filepath.Join(dir, name)); err != nil {
				return err
			}
			order = append(order, name)
		}
	}
	return os.WriteFile(filepath.Join(dir, "order"), []byte(strings.Join(order, "\n")+"\n"), 0o644)
}

func copyModule(ctx context.Context, from, to string) error {
	if !strings.HasSuffix(from, ".xz") {
		return copyFile(from, to, 0o644)
	}
	data, err := run(ctx, "", "xz", "-dc", from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}
