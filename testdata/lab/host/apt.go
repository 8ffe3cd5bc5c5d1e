package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func (l *Lab) apt(ctx context.Context, dir string, args ...string) error {
	_, err := run(ctx, dir, "apt-get", append([]string{"-o", "DPkg::Lock::Timeout=120"}, args...)...)
	return err
}

// newestRelease is the newest kernel of a series ("6.12") that apt knows: the
// release as uname -r says it, "" if there is none.
func newestRelease(ctx context.Context, series string) (string, error) {
	out, err := run(ctx, "", "apt-cache", "pkgnames", "linux-image-"+series+".")
	if err != nil {
		return "", err
	}
	name := regexp.MustCompile(`^linux-image-(` + regexp.QuoteMeta(series) + `\.[0-9]+(?:-[0-9]+|\+[a-z0-9]+)?-amd64)$`)
	best := ""
	for _, line := range strings.Fields(string(out)) {
		if m := name.FindStringSubmatch(line); m != nil && versionLess(best, m[1]) {
			best = m[1]
		}
	}
	return best, nil
}

// versionLess orders releases: runs of digits by value, the rest by bytes.
func versionLess(a, b string) bool {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da != "" && db != "" {
			ta, tb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if len(ta) != len(tb) {
				return len(ta) < len(tb)
			}
			if ta != tb {
				return ta < tb
			}
			a, b = a[len(da):], b[len(db):]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) string {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i]
}

// packageFacts are the version of a package that apt would install, and those
// of its dependencies that belong to the kernel's build.
func packageFacts(ctx context.Context, pkg string) (version string, depends []string, err error) {
	out, err := run(ctx, "", "apt-cache", "show", "--no-all-versions", pkg)
	if err != nil {
		return "", nil, err
	}
	for _, line := range strings.Split(string(out), "\n") {
		if v, ok := strings.CutPrefix(line, "Version: "); ok && version == "" {
			version = v
		}
		list, ok := strings.CutPrefix(line, "Depends: ")
		if !ok {
			continue
		}
		for _, d := range strings.Split(list, ",") {
			name := strings.Fields(strings.TrimSpace(d) + " ")[0]
			if strings.HasPrefix(name, "linux-headers-") || strings.HasPrefix(name, "linux-kbuild-") ||
				strings.HasPrefix(name, "linux-compiler-") {
				depends = append(depends, name)
			}
		}
	}
	if version == "" {
		return "", nil, fmt.Errorf("apt knows no package %s", pkg)
	}
	return version, depends, nil
}

// download fetches packages, which apt verifies, and unpacks them below dir:
// nothing is installed.
func (l *Lab) download(ctx context.Context, dir string, packages ...string) error {
	debs := filepath.Join(dir, "debs")
	if err := os.MkdirAll(debs, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(debs)
	for _, p := range packages {
		l.Log("fetch %s", p)
	}
	if err := l.apt(ctx, debs, append([]string{"-qq", "download"}, packages...)...); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range found {
		if _, err := run(ctx, "", "dpkg-deb", "-x", deb, dir); err != nil {
			return err
		}
	}
	return nil
}
