package bpf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCodeMappings(t *testing.T) {
	got := codeMappings(strings.NewReader(`55d0c0000000-55d0c0001000 r--p 00000000 08:01 131 /usr/bin/python3
55d0c0001000-55d0c0002000 r-xp 00001000 08:01 131                        /usr/bin/python3
7f0000000000-7f0000001000 r-xp 00000000 00:1e 4711 /opt/a b/libcuda.so.1 (deleted)
7f0000002000-7f0000003000 r-xp 00000000 00:00 0                          [vdso]
7f0000004000-7f0000005000 rwxp 00000000 00:00 0
broken
7f0000006000-7f0000007000 r-xp 0 zz:zz x /lib/y
`))
	want := []mapping{
		{"55d0c0001000-55d0c0002000", "/usr/bin/python3", 8, 1, 131},
		{"7f0000000000-7f0000001000", "/opt/a b/libcuda.so.1", 0, 0x1e, 4711},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// ldCache builds a cache as ldconfig does.
func ldCache(entries []ldEntry) []byte {
	text := []byte{}
	le := binary.LittleEndian
	head := make([]byte, 48)
	copy(head, ldMagic)
	le.PutUint32(head[20:], uint32(len(entries)))
	base := uint32(48 + 24*len(entries))
	var list []byte
	add := func(s string) uint32 {
		off := base + uint32(len(text))
		text = append(append(text, s...), 0)
		return off
	}
	for _, e := range entries {
		b := make([]byte, 24)
		le.PutUint32(b, e.flags)
		le.PutUint32(b[4:], add(e.name))
		le.PutUint32(b[8:], add(e.path))
		list = append(list, b...)
	}
	return append(append(head, list...), text...)
}

func TestLDCache(t *testing.T) {
	entries := []ldEntry{
		{0x0303, "libcuda.so.1", "/lib/x86_64-linux-gnu/libcuda.so.1"},
		{0x0003, "libcuda.so.1", "/lib/i386-linux-gnu/libcuda.so.1"},
		{0x0303, "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"},
		{0x0303, "libcuda.so", "/lib/x86_64-linux-gnu/libcuda.so.1"},
	}
	data := ldCache(entries)
	if got := parseLDCache(data); !reflect.DeepEqual(got, entries) {
		t.Errorf("%+v", got)
	}
	// older caches have another format in front
	if got := parseLDCache(append([]byte("ld.so-1.7.0\x00\x00\x00\x00\x00"), data...)); !reflect.DeepEqual(got, entries) {
		t.Errorf("behind an old cache: %+v", got)
	}
	path := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := systemLibraries(path); !reflect.DeepEqual(got, []string{"/lib/x86_64-linux-gnu/libcuda.so.1"}) {
		t.Errorf("%v", got)
	}
	if got := systemLibraries(path + "x"); got != nil {
		t.Errorf("without a cache: %v", got)
	}
}

func FuzzLDCache(f *testing.F) {
	f.Add(ldCache([]ldEntry{{0x0303, "libcuda.so.1", "/x"}}))
	f.Add([]byte(ldMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(parseLDCache(data)); n > len(data)/24 {
			t.Errorf("%d entries in %d bytes", n, len(data))
		}
	})
}

// buildLibrary compiles a small library; no root is needed.
func buildLibrary(t *testing.T, source string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc: ", err)
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "a.c"), filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", append([]string{"-O1", "-fno-omit-frame-pointer", "-fcf-protection=full", "-shared", "-fPIC", "-o", lib, src}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return lib
}

func TestSites(t *testing.T) {
	lib := buildLibrary(t, `
int cuInit(unsigned f) { volatile int x = f; return x; }
int cuMemAlloc_v2(void **p, unsigned long n) { volatile int x = n; return x; }
int cuStreamSynchronize(void *s) { volatile int x = 1; return x; }
int cuStreamSynchronize_ptsz(void *s) __attribute__((alias("cuStreamSynchronize")));
int cuMemAlloc_data_v2 = 7;
static int hidden(void) { return 1; }
int unrelated(void) { return hidden(); }
int cuStreamDestroy(void *s) { volatile int x = 3; return x; }
int cuStreamDestroy_v2(void *s) __attribute__((alias("cuStreamDestroy")));
int cuLaunchKernel_v7000(void) __attribute__((alias("unrelated2")));
int unrelated2(void) { volatile int x = 2; return x; }
`)
	f, err := os.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sites, err := findSites(f, New(Options{}).wantFunction, false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	ef, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	syms, err := ef.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		got[s.symbol] = s.aliases
		for _, sym := range syms {
			if sym.Name == s.symbol {
				// gcc's functions begin with endbr64; push rbp
				code := make([]byte, 5)
				if _, err := f.ReadAt(code, int64(s.offset)-4); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(code, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55}) || s.cost != stepEmulated {
					t.Errorf("%s: code %x before the probe, cost %d", s.symbol, code, s.cost)
				}
			}
		}
	}
	want := map[string][]string{"cuInit": nil, "cuMemAlloc_v2": nil, "cuStreamSynchronize": {"cuStreamSynchronize_ptsz"}, "cuLaunchKernel_v7000": nil,
		"cuStreamDestroy_v2": {"cuStreamDestroy"}} // the name that the headers give today
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sites %v, want %v", got, want)
	}
	if sites, err := findSites(f, New(Options{Functions: []string{"cuInit"}}).wantFunction, false); err != nil || len(sites) != 1 {
		t.Errorf("only cuInit asked for: %v, %v", sites, err)
	}
}

// A program with a static runtime has it in its symbol table only.
func TestSitesOfStaticProgram(t *testing.T) {
	lib := buildLibrary(t, `
static __attribute__((noinline, used)) int cudaMalloc(void **p, unsigned long n) { volatile int x = n; return x; }
int f(void) { return cudaMalloc(0, 1); }
`)
	f, err := os.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sites, err := findSites(f, New(Options{}).wantFunction, false)
	if err != nil || len(sites) != 1 || sites[0].symbol != "cudaMalloc" {
		t.Errorf("%+v, %v", sites, err)
	}
}

func TestSitesOfNonsense(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("text"), []byte(elf.ELFMAG), trialELF()[:80]} {
		if sites, err := findSites(bytes.NewReader(data), New(Options{}).wantFunction, false); err == nil || len(sites) != 0 {
			t.Errorf("%d bytes: %v, %v", len(data), sites, err)
		}
	}
	if sites, err := findSites(bytes.NewReader(trialELF()), New(Options{}).wantFunction, false); err != nil || len(sites) != 0 {
		t.Errorf("a file without symbols: %v, %v", sites, err)
	}
}

func FuzzSites(f *testing.F) {
	f.Add(trialELF())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			t.Skip("large")
		}
		_, _ = findSites(bytes.NewReader(data), New(Options{}).wantFunction, false)
	})
}

func TestDevices(t *testing.T) {
	root := t.TempDir()
	mk := func(path string) string {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pci := mk("sys/devices/pci0000:00/0000:03:00.0")
	drv := mk("sys/bus/pci/drivers/amdgpu")
	chr := mk("sys/dev/char/226:128")
	for _, l := range [][2]string{{pci, chr + "/device"}, {drv, pci + "/driver"}} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			t.Fatal(err)
		}
	}
	mk("proc/driver/nvidia/gpus/0000:65:00.0")
	if err := os.WriteFile(root+"/proc/driver/nvidia/gpus/0000:65:00.0/information", []byte("Model: \t X\nDevice Minor: \t 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/proc/devices", []byte("Character devices:\n  1 mem\n195 nvidia\n236 kfd\n237 nvidia-uvm\n\nBlock devices:\n  8 sd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := newSysDevices(root)
	for _, tc := range []struct {
		major, minor   uint32
		driver, device string
	}{
		{226, 128, "amdgpu", "0000:03:00.0"},
		{195, 1, "nvidia", "0000:65:00.0"},
		{195, 0, "nvidia", "/dev/nvidia0"},
		{195, 255, "nvidia", "/dev/nvidiactl"},
		{236, 0, "amdkfd", ""},
		{237, 0, "nvidia-uvm", ""},
		{1, 3, "", ""},
	} {
		if driver, device := d.lookup(tc.major<<20 | tc.minor); driver != tc.driver || device != tc.device {
			t.Errorf("%d:%d is %q, %q; want %q, %q", tc.major, tc.minor, driver, device, tc.driver, tc.device)
		}
	}
	majors := map[uint32]bool{}
	for _, m := range d.gpuMajors() {
		majors[m] = true
	}
	if want := (map[uint32]bool{226: true, 195: true, 261: true, 236: true, 237: true}); !reflect.DeepEqual(majors, want) {
		t.Errorf("majors %v", majors)
	}
}

func TestKallsyms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(path, []byte(`ffffffff81000010 T dma_fence_stub_get_name
ffffffff81000020 t i915_fence_get_driver_name
ffffffffc0000030 t amdgpu_fence_get_driver_name	[amdgpu]
ffffffffc0000040 t drm_sched_fence_get_driver_name	[gpu_sched]
ffffffffc0000050 r drm_sched_fence_ops_scheduled	[gpu_sched]
ffffffffc0000060 r drm_sched_fence_ops_finished	[gpu_sched]
0000000000000000 t hidden_get_driver_name
ffffffff81000070 T schedule
`), 0o644); err != nil {
		t.Fatal(err)
	}
	k := readKallsyms(path)
	want := map[uint64]string{0xffffffff81000010: "stub", 0xffffffff81000020: "i915", 0xffffffffc0000030: "amdgpu", 0xffffffffc0000040: "drm_sched"}
	if !reflect.DeepEqual(k.drivers, want) {
		t.Errorf("drivers %v", k.drivers)
	}
	if k.fenceOps != [2]uint64{0xffffffffc0000050, 0xffffffffc0000060} {
		t.Errorf("fence ops %#x", k.fenceOps)
	}
}

func TestOptions(t *testing.T) {
	for in, want := range map[int]uint32{0: DefaultRingBytes, 1: 1 << 16, 1<<16 + 1: 1 << 17, 3 << 20: 4 << 20, 1 << 40: 1 << 30, -5: 1 << 16} {
		if got := ringBytes(in); got != want {
			t.Errorf("ring of %d: %d, want %d", in, got, want)
		}
	}
	if err := New(Options{Groups: []string{"gpu"}}).Attach(); err == nil || !strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("an unknown group: %v", err)
	}
	if n := len(libraryPrefixes()); n > 24 {
		t.Errorf("%d library names, the object has room for 24", n)
	}
}
