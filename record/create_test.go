package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Some user that is not root; it need not exist.
const (
	otherUID = 54321
	otherGID = 54322
	thirdUID = 54323
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it acts as several users")
	}
}

// sudo makes this process look like one that a user started by sudo.
func sudo(t *testing.T) {
	t.Setenv("SUDO_UID", strconv.Itoa(otherUID))
	t.Setenv("SUDO_GID", strconv.Itoa(otherGID))
}

// openDir is a directory that everybody may enter, owned by uid.
func openDir(t *testing.T, uid int, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gpurec-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustCreate(t *testing.T, path string) {
	t.Helper()
	f, err := createOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("log"); err != nil {
		t.Error(err)
	}
	f.Close()
}

func ownerOf(t *testing.T, path string) (uid, gid int) {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := st.Sys().(*syscall.Stat_t)
	return int(s.Uid), int(s.Gid)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCreateKeepsTheOldFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "run.gpurec")
	for i, old := range []string{"first", "second"} {
		write(t, p, old)
		mustCreate(t, p)
		if content(t, p) != "log" || content(t, p+".old") != old {
			t.Errorf("round %d: %q, old %q", i, content(t, p), content(t, p+".old"))
		}
	}
	st, err := os.Stat(p)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestCreateOddTargets(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{dir, "directory"}, {dir + "/", "directory"}, {dir + "/new/", "directory"}, {dir + "/none/run", "no such file"}, {"/", "directory"}, {"..", "directory"},
	} {
		if _, err := createOutput(c.path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	mustCreate(t, "/dev/null")
	if st, err := os.Stat("/dev/null"); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		t.Fatal("/dev/null is no device any more")
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := createOutput(loop); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a loop: %v", err)
	}
}

func TestCreateThroughOwnLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "big", "disk"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"short": "big/disk", "run": "short/../disk/run.gpurec", "abs": filepath.Join(dir, "big")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	mustCreate(t, filepath.Join(dir, "run"))
	mustCreate(t, filepath.Join(dir, "abs", "disk", "two"))
	for _, p := range []string{"big/disk/run.gpurec", "big/disk/two"} {
		if content(t, filepath.Join(dir, p)) != "log" {
			t.Errorf("%s", p)
		}
	}
}

func TestCreateUnderSudo(t *testing.T) {
	needRoot(t)
	sudo(t)
	t.Run("in the user's directory", func(t *testing.T) {
		p := filepath.Join(openDir(t, otherUID, 0o700), "run.gpurec")
		mustCreate(t, p)
		if u, g := ownerOf(t, p); u != otherUID || g != otherGID {
			t.Errorf("it belongs to %d:%d", u, g)
		}
	})
	t.Run("where only root may write", func(t *testing.T) {
		p := filepath.Join(openDir(t, 0, 0o755), "run.gpurec")
		mustCreate(t, p)
		if u, g := ownerOf(t, p); u != otherUID || g != otherGID {
			t.Errorf("it belongs to %d:%d", u, g)
		}
	})
	t.Run("the user's link to a file of root", func(t *testing.T) {
		dir, secret := openDir(t, otherUID, 0o755), filepath.Join(openDir(t, 0, 0o755), "secret")
		write(t, secret, "secret")
		p := filepath.Join(dir, "run.gpurec")
		if err := os.Symlink(secret, p); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(p, otherUID, -1); err != nil {
			t.Fatal(err)
		}
		if f, err := createOutput(p); err == nil {
			f.Close()
			t.Error("root followed the user's link to where the user may not write")
		}
		if content(t, secret) != "secret" {
			t.Error("the file of root is changed")
		}
		if _, err := os.Lstat(secret + ".old"); err == nil {
			t.Error("the file of root was moved")
		}
	})
	t.Run("another user's link in a shared directory", func(t *testing.T) {
		for _, mode := range []os.FileMode{0o777 | os.ModeSticky, 0o777} {
			dir := openDir(t, 0, mode)
			target := filepath.Join(openDir(t, otherUID, 0o700), "precious")
			write(t, target, "precious")
			p := filepath.Join(dir, "run.gpurec")
			if err := os.Symlink(target, p); err != nil {
				t.Fatal(err)
			}
			if err := os.Lchown(p, thirdUID, -1); err != nil {
				t.Fatal(err)
			}
			_, err := createOutput(p)
			if err == nil || !strings.Contains(err.Error(), strconv.Itoa(thirdUID)) {
				t.Errorf("mode %v: %v", mode, err)
			}
			if content(t, target) != "precious" {
				t.Error("the link was followed")
			}
		}
	})
	t.Run("no thread keeps the user's rights", func(t *testing.T) {
		mustCreate(t, filepath.Join(openDir(t, otherUID, 0o700), "run.gpurec"))
		// The thread that took them ends with its goroutine, a moment later.
		var left string
		for range 1000 {
			if left = threadsWithRights(otherUID); left == "" {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error(left)
	})
}

// threadsWithRights tells of the threads of this process that have a user's id.
func threadsWithRights(uid int) string {
	var left strings.Builder
	for _, tid := range numericDir("/proc/self/task") {
		b, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/status")
		if err == nil && strings.Contains(string(b), "\t"+strconv.Itoa(uid)) {
			fmt.Fprintf(&left, "thread %d:\n%s", tid, b)
		}
	}
	return left.String()
}

// As root without sudo, links of others are not followed either.
func TestCreateAsRoot(t *testing.T) {
	needRoot(t)
	t.Setenv("SUDO_UID", "")
	dir := openDir(t, 0, 0o777|os.ModeSticky)
	sub := filepath.Join(dir, "sub")
	if err := os.Symlink(openDir(t, 0, 0o755), sub); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(sub, thirdUID, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := createOutput(filepath.Join(sub, "run.gpurec")); err == nil {
		t.Error("a directory that another user's link names was written to")
	}
}

func TestRunAsUser(t *testing.T) {
	needRoot(t)
	dir := openDir(t, 0, 0o777)
	file := filepath.Join(dir, "id")
	r := startRecorder(t, recorderSpec{Command: sh(`(id -un; id -gn; echo $HOME; echo $USER; grep Groups /proc/self/status | wc -w) > ` + file), User: "nobody", Fake: true})
	if got := r.wait(); got != 0 {
		t.Fatalf("status %d: %s", got, r.stderr.String())
	}
	lines := strings.Split(waitFile(t, file), "\n")
	if len(lines) != 5 || lines[0] != "nobody" || lines[1] != "nogroup" && lines[1] != "nobody" || lines[3] != "nobody" || lines[2] == os.Getenv("HOME") {
		t.Errorf("the command is %q", lines)
	}
	if u, _ := ownerOf(t, r.log); u != 0 {
		t.Errorf("the log belongs to %d", u)
	}
	r = startRecorder(t, recorderSpec{Command: sh("exit 0"), User: "no-such-user", Fake: true})
	if got := r.wait(); got != 2 {
		t.Errorf("an unknown user: status %d, want 2", got)
	}
}
