package host

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// applets are the programs that the guest's scripts take from busybox.
var applets = []string{"sh", "mount", "umount", "insmod", "rmmod", "cat", "ls", "cp", "mv", "rm", "mkdir", "rmdir", "echo",
	"poweroff", "dmesg", "sleep", "usleep", "uname", "grep", "tr", "sync", "seq", "timeout", "kill", "dd", "true", "nproc"}

// program is one of the guest's, or a library.
type program struct {
	to     string   // its path in the guest
	args   []string // of gcc, after -o
	shared bool     // the host's libraries come with it
}

// Initramfs builds the guest's programs and packs the guest's first file
// system; it returns the archive's name.
func (l *Lab) Initramfs(ctx context.Context, k *Kernel, module string) (string, error) {
	work := filepath.Join(l.Out, k.Release, "build")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", err
	}
	files, err := l.programs(ctx, k, work)
	if err != nil {
		return "", err
	}
	gpurec := l.Gpurec
	if gpurec == "" {
		gpurec = filepath.Join(work, "gpurec")
		if err := l.buildGpurec(ctx, gpurec); err != nil {
			return "", err
		}
	}
	files = append(files, file{path: "bin/gpurec", from: gpurec, mode: 0o755})
	order, err := os.ReadFile(filepath.Join(k.Dir, "modules", "order"))
	if err != nil {
		return "", err
	}
	for _, m := range append(strings.Fields(string(order)), "order") {
		files = append(files, file{path: "modules/" + m, from: filepath.Join(k.Dir, "modules", m), mode: 0o644})
	}
	for _, m := range []string{ModuleNewer, ModuleLegacy} {
		files = append(files, file{path: "modules/" + m, from: filepath.Join(module, m), mode: 0o644})
	}
	files = append(files, file{path: "init", from: filepath.Join(l.Source, "guest", "init"), mode: 0o755},
		file{path: "bin/busybox", from: "/bin/busybox", mode: 0o755})
	for _, script := range []string{"scenario", "recorders", "recorded", "late", "starved", "killed"} {
		files = append(files, file{path: "bin/" + script, from: filepath.Join(l.Source, "guest", script), mode: 0o755})
	}
	for _, a := range applets {
		files = append(files, file{path: "bin/" + a, link: "busybox"})
	}
	name := filepath.Join(work, "initramfs")
	return name, packFile(name, files, []string{"dev", "proc", "sys", "tmp", "host"})
}

// buildGpurec builds the recorder of this checkout, as one static binary.
func (l *Lab) buildGpurec(ctx context.Context, to string) error {
	root := filepath.Join(l.Source, "..", "..")
	_, err := run(ctx, root, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, "./cmd/gpurec")
	return err
}

func packFile(name string, files []file, dirs []string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := writeCPIO(w, files, dirs); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// programs builds all programs of the guest in work.
func (l *Lab) programs(ctx context.Context, k *Kernel, work string) ([]file, error) {
	uapi := filepath.Join(work, "uapi")
	if err := drmHeaders(k, uapi); err != nil {
		return nil, err
	}
	guest := filepath.Join(l.Source, "guest")
	common := []string{"-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I" + uapi, "-I" + filepath.Join(l.Source, "mockgpu")}
	in := func(names ...string) (args []string) {
		for _, n := range names {
			args = append(args, filepath.Join(guest, n))
		}
		return args
	}
	stub := filepath.Join(l.Source, "..", "workloads", "stub")
	list := []program{
		{to: "bin/gpuload", args: append(in("gpuload.c", "client.c"), "-static")},
		{to: "bin/rawcat", args: append(in("rawcat.c"), "-static")},
		{to: "bin/mark", args: append(in("mark.c", "client.c"), "-static")},
		{to: "lib/libcuda.so.1", shared: true, args: append(in("mockengine.c", "client.c", "stubcount.c"),
			filepath.Join(stub, "libcuda.c"), "-I"+stub, "-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
			"-fcf-protection=full", "-Wl,-soname,libcuda.so.1")},
		{to: "bin/train", shared: true, args: append(in("train.c", "client.c"), "-I"+stub, "-pthread",
			filepath.Join(work, "libcuda.so.1"), "-Wl,-rpath,/lib")},
	}
	var files []file
	have := map[string]bool{}
	for _, p := range list {
		built := filepath.Join(work, filepath.Base(p.to))
		args := append(append([]string{"-o", built}, common...), p.args...)
		if _, err := run(ctx, "", "gcc", args...); err != nil {
			return nil, fmt.Errorf("build %s: %w", p.to, err)
		}
		files = append(files, file{path: p.to, from: built, mode: 0o755})
		if !p.shared {
			continue
		}
		libs, err := libraries(ctx, built)
		if err != nil {
			return nil, err
		}
		for _, lib := range libs {
			if !have[lib] {
				have[lib] = true
				files = append(files, file{path: strings.TrimPrefix(lib, "/"), from: lib, mode: 0o755})
			}
		}
	}
	return files, nil
}

// drmHeaders copies DRM's headers from those of the kernel, in the form for programs.
func drmHeaders(k *Kernel, to string) error {
	if err := os.MkdirAll(filepath.Join(to, "drm"), 0o755); err != nil {
		return err
	}
	for _, h := range []string{"drm.h", "drm_mode.h"} {
		found, _ := filepath.Glob(filepath.Join(k.Dir, "usr/src/linux-headers-*-common/include/uapi/drm", h))
		if len(found) != 1 {
			return fmt.Errorf("headers of %s: no include/uapi/drm/%s", k.Release, h)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte("__user "), nil)
		if err := os.WriteFile(filepath.Join(to, "drm", h), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

var libraryPath = regexp.MustCompile(`(?m)(?:=> |^\t)(/\S+)`)

// libraries are the shared libraries and the loader of a program.
func libraries(ctx context.Context, name string) ([]string, error) {
	out, err := run(ctx, "", "ldd", name)
	if err != nil {
		return nil, err
	}
	var libs []string
	for _, m := range libraryPath.FindAllStringSubmatch(string(out), -1) {
		libs = append(libs, m[1])
	}
	return libs, nil
}
