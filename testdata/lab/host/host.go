// Package host is the lab's side outside of the guest: it fetches kernels,
// builds the module and the guest's programs, and boots them in QEMU.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnavailable says that a part of the lab can't be had on this machine: the
// lab is skipped, not failed.
var ErrUnavailable = errors.New("not available here")

// Lab names the directories of a lab.
type Lab struct {
	Source string // testdata/lab
	Cache  string // outlives a run: kernels, built modules
	Out    string // of this run: what guests leave
	Gpurec string // the recorder, a static binary; "": build it from the checkout
	Log    func(format string, args ...any)
}

// CacheDir is where kernels are kept: GPUREC_LAB_CACHE, else a directory of the
// user's cache.
func CacheDir() (string, error) {
	if dir := os.Getenv("GPUREC_LAB_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("directory of the cache: %w; set GPUREC_LAB_CACHE", err)
	}
	return filepath.Join(dir, "gpurec-lab"), nil
}

// tools are the programs that the lab runs, and the Debian packages that have them.
var tools = map[string]string{
	"qemu-system-x86_64": "qemu-system-x86",
	"busybox":            "busybox-static",
	"modprobe":           "kmod",
	"depmod":             "kmod",
	"pahole":             "pahole",
	"make":               "make",
	"gcc-12":             "gcc-12",
	"gcc":                "gcc",
	"xz":                 "xz-utils",
	"zstd":               "zstd",
	"dpkg-deb":           "dpkg",
	"apt-get":            "apt",
	"strip":              "binutils",
}

// Tools makes sure that the lab's tools are there; as root it installs what is
// missing. It returns an error that is ErrUnavailable if some can't be had.
func (l *Lab) Tools(ctx context.Context) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, " ")
	if os.Getuid() != 0 {
		return fmt.Errorf("%w: install %s", ErrUnavailable, list)
	}
	l.Log("install %s", list)
	args := append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)
	if err := l.apt(ctx, "", args...); err != nil {
		return fmt.Errorf("%w: install %s: %w", ErrUnavailable, list, err)
	}
	if left := missingPackages(); len(left) > 0 {
		return fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(left, " "))
	}
	return nil
}

func missingPackages() []string {
	var missing []string
	seen := map[string]bool{}
	for tool, pkg := range tools {
		if _, err := exec.LookPath(tool); err != nil && !seen[pkg] {
			// sbin is not in everyone's path
			if _, err := os.Stat("/usr/sbin/" + tool); err != nil {
				seen[pkg] = true
				missing = append(missing, pkg)
			}
		}
	}
	return missing
}

// run runs a program politely, in dir, and returns its standard output. The
// error holds the last line that it wrote to standard error.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	if _, err := exec.LookPath(name); err != nil {
		name = "/usr/sbin/" + name
	}
	cmd := exec.CommandContext(ctx, "nice", append([]string{name}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", filepath.Base(name), err, tail(errs.String(), 5))
	}
	return out.Bytes(), nil
}

// tail is the last n lines of text, in one line.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, " | ")
}
