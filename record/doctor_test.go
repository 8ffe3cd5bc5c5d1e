package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func TestDoctor(t *testing.T) {
	r := Doctor(t.Context())
	names := map[string]bool{}
	for _, m := range r.Mechanisms {
		if m.Name == "" || names[m.Name] {
			t.Errorf("mechanism %q: no name, or twice", m.Name)
		}
		names[m.Name] = true
		if !m.OK && (m.Reason == "" || m.Effect == "" || m.Remedy == "" && m.Name != "uprobe") {
			t.Errorf("%+v: a missing mechanism needs a reason, an effect and a remedy", m)
		}
		if strings.Contains(m.Reason, "\n") {
			t.Errorf("%s: a reason of several lines", m.Name)
		}
	}
	if !names["ftrace instance"] || r.Host.Kernel == "" {
		t.Errorf("report %+v", r)
	}
	if l := instancesOf(os.Getpid()); len(l) > 0 {
		t.Errorf("it left %v", l)
	}
	b, err := json.Marshal(r)
	if err != nil || strings.Contains(string(b), ":null") {
		t.Errorf("JSON %s, %v", b, err)
	}
	for n := range names {
		if !strings.Contains(r.String(), n) {
			t.Errorf("the text leaves out %s", n)
		}
	}
}

// machineWith builds a root directory with files and links.
func machineWith(t *testing.T, files, links map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindDevices(t *testing.T) {
	const pci = "sys/bus/pci/devices/"
	root := machineWith(t, map[string]string{
		pci + "0000:01:00.0/class": "0x030200\n", pci + "0000:01:00.0/vendor": "0x10de\n", pci + "0000:01:00.0/device": "0x2330\n",
		pci + "0000:03:00.0/class": "0x030000\n", pci + "0000:03:00.0/vendor": "0x1002\n", pci + "0000:03:00.0/device": "0x744c\n",
		pci + "0000:00:1f.0/class": "0x060100\n", pci + "0000:00:1f.0/vendor": "0x8086\n",
		"sys/module/amdgpu/version":                        "6.10.5\n",
		"sys/class/drm/version":                            "drm 1.1.0 20060810\n",
		"proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.2.0\n",
		"sys/class/drm/renderD129/x":                       "",
		"sys/devices/soc/gpu/vendorx":                      "",
		"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 34\nGPU UUID: \t GPU-1b2c\nDevice Minor: \t 0\n",
	}, map[string]string{
		pci + "0000:03:00.0/driver":           "../../../bus/pci/drivers/amdgpu",
		"sys/class/drm/card0/device":          "../../../bus/pci/devices/0000:03:00.0",
		"sys/class/drm/renderD128/device":     "../../../bus/pci/devices/0000:03:00.0",
		"sys/class/drm/card0-HDMI-A-1/x":      "nothing",
		"sys/class/drm/renderD129/device":     "../../../devices/soc/fd000000.gpu",
		"sys/devices/soc/fd000000.gpu/driver": "../../bus/platform/drivers/panthor",
	})
	got := findDevices(root)
	want := []Device{
		{ID: "0000:01:00.0", Name: "NVIDIA H100 80GB HBM3", Driver: "nvidia", Version: "550.54.15", Vendor: "0x10de", Model: "0x2330", UUID: "GPU-1b2c", Nodes: []string{"nvidia0"}},
		{ID: "0000:03:00.0", Name: "0x1002:0x744c", Driver: "amdgpu", Version: "6.10.5", Vendor: "0x1002", Model: "0x744c", Nodes: []string{"card0", "renderD128"}},
		{ID: "fd000000.gpu", Driver: "panthor", Nodes: []string{"renderD129"}},
	}
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	e := got[0].event(5)
	if e.Kind != event.KindDevice || e.Str(event.FieldDevice) != "0000:01:00.0" || e.Str(event.FieldVersion) != "550.54.15" ||
		e.Str(event.FieldArgs) != `{"model":"0x2330","nodes":["nvidia0"],"uuid":"GPU-1b2c","vendor":"0x10de"}` {
		t.Errorf("event %+v, args %s", e, e.Str(event.FieldArgs))
	}
	if l := findDevices(t.TempDir()); len(l) != 0 {
		t.Errorf("an empty machine has %v", l)
	}
}

func TestParseStat(t *testing.T) {
	st, err := parseStat("77 (a (b) c) T 1 77 77 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 1 0\n")
	if err != nil || st != (procStat{comm: "a (b) c", state: 'T', ppid: 1, start: 123456}) {
		t.Errorf("%+v, %v", st, err)
	}
	for _, bad := range []string{"", "77", "77 (x", "77 (x) ", "77 (x) R 1", ") ("} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
