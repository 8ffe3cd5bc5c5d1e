package host

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/testdata/lab/scenario"
)

func TestVersionLess(t *testing.T) {
	ordered := []string{"", "6.1.0-9", "6.1.0-47", "6.1.0-57", "6.12.9+deb12", "6.12.100+deb12", "6.12.117+deb12"}
	for i, a := range ordered {
		for j, b := range ordered {
			if versionLess(a, b) != (i < j) {
				t.Errorf("%q < %q is %v", a, b, !(i < j))
			}
		}
	}
}

func TestCPIO(t *testing.T) {
	from := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(from, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err := writeCPIO(&b, []file{{path: "bin/x", from: from, mode: 0o755}, {path: "bin/y", link: "x"}}, []string{"dev"})
	if err != nil {
		t.Fatal(err)
	}
	const head = "070701" // then 13 numbers of 8 digits; names and data padded to 4 bytes
	entry := func(inode, mode, size, name string) string {
		z := "00000000"
		s := head + inode + mode + z + z + "00000001" + z + size + z + z + z + z + "%" + z + name + "\x00"
		n := len(name) + 1
		s = strings.Replace(s, "%", "0000000"+string("0123456789AB"[n]), 1)
		return s + strings.Repeat("\x00", (4-len(s)%4)%4)
	}
	want := entry("00000001", "000041ED", "00000000", "bin") + entry("00000002", "000041ED", "00000000", "dev") +
		entry("00000003", "000081ED", "00000005", "bin/x") + "hello\x00\x00\x00" +
		entry("00000004", "0000A1FF", "00000001", "bin/y") + "x\x00\x00\x00" +
		entry("00000005", "00000000", "00000000", "TRAILER!!!")
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

func TestPayload(t *testing.T) {
	image := make([]byte, 0x1000)
	image[0x1f1] = 3 // sectors of setup after the first
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], 0x10)
	binary.LittleEndian.PutUint32(image[0x24c:], 8)
	copy(image[4*512+0x10:], "KERNEL..")
	got, err := bzPayload(image)
	if err != nil || string(got) != "KERN" { // its length follows it, four bytes
		t.Errorf("got %q, %v", got, err)
	}
	binary.LittleEndian.PutUint32(image[0x24c:], 0xfff0)
	if _, err := bzPayload(image); err == nil {
		t.Error("a payload beyond the end is no error")
	}
	if _, err := bzPayload(image[:100]); err == nil {
		t.Error("a short file is no error")
	}
}

func TestTasks(t *testing.T) {
	dir := t.TempDir()
	s := &scenario.Scenario{Name: "s", Buffer: 64, Module: []string{"ndev=2"}, Run: []string{"echo 'it'", "true"}}
	if err := writeTasks(dir, []Task{{s, scenario.Legacy}, {s, scenario.Newer}}); err != nil {
		t.Fatal(err)
	}
	legacy, newer := read(t, dir, "000"), read(t, dir, "001")
	for _, want := range []string{"NAME='s-legacy'\n", "MODULE='/modules/mockgpu-legacy.ko ndev=2'\n", "BUFFER='64'\n", "RUNS='2'\n",
		`RUN_1='echo '\''it'\'''` + "\n", "gpu_scheduler/drm_sched_job "} {
		if !strings.Contains(legacy, want) {
			t.Errorf("no %q in\n%s", want, legacy)
		}
	}
	if strings.Contains(legacy, "drm_sched_job_queue") || strings.Contains(newer, "drm_run_job") {
		t.Error("a mode records events of the other generation")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMarks(t *testing.T) {
	a := Task{&scenario.Scenario{Name: "a"}, scenario.Both}
	b := Task{&scenario.Scenario{Name: "b"}, scenario.Both}
	g := &Guest{Console: filepath.Join(t.TempDir(), "console")}
	err := g.follow(strings.NewReader("noise\r\n@@UP 3.1 6.1\r\n@@BEGIN a-both 3.2\r\n@@FAIL a-both: no event x\r\n"+
		"@@END a-both 4.0\r\n@@FAIL kernel says BUG:\r\n@@BEGIN b-both 4.1\r\nPanic"), "out", []Task{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Outcomes) != 2 || !g.Outcomes[0].Ended || g.Outcomes[1].Ended {
		t.Fatalf("outcomes: %+v", g.Outcomes)
	}
	if f := g.Outcomes[0].Failed; len(f) != 1 || f[0] != "a-both: no event x" {
		t.Errorf("failures of a: %q", f)
	}
	if len(g.Failed) != 1 || g.Failed[0] != "kernel says BUG:" {
		t.Errorf("failures of the guest: %q", g.Failed)
	}
	if g.Outcomes[0].Dir != "out/a-both" || !strings.Contains(read(t, filepath.Dir(g.Console), "console"), "noise") {
		t.Errorf("directory %q, or the console isn't kept", g.Outcomes[0].Dir)
	}
}

// A guest that says that it slept two seconds, at once, has a clock that is too
// fast: it is stopped.
func TestFollowClock(t *testing.T) {
	for slept, fast := range map[string]bool{"5.1": true, "3.1": false} {
		stopped := false
		g := &Guest{Console: filepath.Join(t.TempDir(), "console"), stop: func() { stopped = true }}
		if err := g.follow(strings.NewReader("@@UP 3.1 6.1\r\n@@CLOCK 3.1 "+slept+"\r\n"), "", nil); err != nil {
			t.Fatal(err)
		}
		if g.fast != fast || stopped != fast || len(g.Failed) != 0 {
			t.Errorf("slept until %s: fast %v, stopped %v, %v", slept, g.fast, stopped, g.Failed)
		}
	}
}
