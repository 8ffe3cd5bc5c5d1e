package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Device is a GPU of this machine.
type Device struct {
	ID      string   `json:"id"` // its identity: PCI address, else the name of its platform device
	Name    string   `json:"name,omitempty"`
	Driver  string   `json:"driver,omitempty"`
	Version string   `json:"version,omitempty"` // of the driver, where it has one
	Vendor  string   `json:"vendor,omitempty"`  // PCI ids, "0x10de"
	Model   string   `json:"model,omitempty"`
	UUID    string   `json:"uuid,omitempty"`
	Nodes   []string `json:"nodes,omitempty"` // "card0", "renderD128", "nvidia0"
}

// event returns the device as the log holds it.
func (d *Device) event(t event.Time) event.Event {
	e := event.New(event.KindDevice, t)
	e.SetStr(event.FieldDevice, d.ID)
	e.SetStr(event.FieldName, d.Name)
	e.SetStr(event.FieldDriver, d.Driver)
	e.SetStr(event.FieldVersion, d.Version)
	args := map[string]any{}
	for k, v := range map[string]string{"vendor": d.Vendor, "model": d.Model, "uuid": d.UUID} {
		if v != "" {
			args[k] = v
		}
	}
	if len(d.Nodes) > 0 {
		args["nodes"] = d.Nodes
	}
	if len(args) > 0 {
		if b, err := json.Marshal(args); err == nil { // strings and lists of them always can be
			e.SetStr(event.FieldArgs, string(b))
		}
	}
	return e
}

// finder gathers the GPUs of the machine whose root directory is given.
type finder struct {
	root string
	byID map[string]*Device
}

// findDevices lists the GPUs that DRM, PCI (classes display, 3D and processing
// accelerator) and NVIDIA's driver show, by identity.
func findDevices(root string) []Device {
	f := &finder{root: root, byID: make(map[string]*Device)}
	f.pci()
	f.drm("class/drm")
	f.drm("class/accel")
	f.nvidia()
	var out []Device
	for _, d := range f.byID {
		sort.Strings(d.Nodes)
		if d.Name == "" && d.Vendor != "" {
			d.Name = d.Vendor + ":" + d.Model
		}
		out = append(out, *d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (f *finder) device(id string) *Device {
	d := f.byID[id]
	if d == nil {
		d = &Device{ID: id}
		f.byID[id] = d
	}
	return d
}

// text returns a file of the machine without its newline; "" if it has none.
func (f *finder) text(elem ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{f.root}, elem...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (f *finder) list(elem ...string) []string {
	entries, err := os.ReadDir(filepath.Join(append([]string{f.root}, elem...)...))
	if err != nil {
		return nil // this machine has no such directory
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func (f *finder) base(elem ...string) string {
	target, err := os.Readlink(filepath.Join(append([]string{f.root}, elem...)...))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

func (f *finder) pci() {
	const dir = "sys/bus/pci/devices"
	for _, addr := range f.list(dir) {
		class := f.text(dir, addr, "class")
		// 0x03: display controller (VGA, XGA, 3D); 0x12: processing accelerator.
		if strings.HasPrefix(class, "0x03") || strings.HasPrefix(class, "0x12") {
			f.fill(f.device(addr), dir, addr)
		}
	}
}

// fill reads what a device's directory in sysfs tells.
func (f *finder) fill(d *Device, dir ...string) {
	at := func(name string) []string { return append(append([]string{}, dir...), name) }
	d.Vendor, d.Model = f.text(at("vendor")...), f.text(at("device")...)
	d.Driver = f.base(at("driver")...)
	if d.Driver != "" {
		d.Version = f.text("sys/module", d.Driver, "version")
	}
}

// drm adds the nodes of DRM (card0, renderD128) or accel, and devices that are
// on no PCI bus.
func (f *finder) drm(class string) {
	for _, node := range f.list("sys", class) {
		if strings.Contains(node, "-") {
			continue // a connector: card0-HDMI-A-1
		}
		id := f.base("sys", class, node, "device")
		if id == "" {
			continue // no hardware behind it: "version", a virtual node
		}
		d := f.byID[id]
		if d == nil {
			d = f.device(id)
			f.fill(d, "sys", class, node, "device")
		}
		d.Nodes = append(d.Nodes, node)
	}
}

// nvidia adds what NVIDIA's driver tells in /proc/driver/nvidia.
func (f *finder) nvidia() {
	version := nvidiaVersion(f.text("proc/driver/nvidia/version"))
	for _, addr := range f.list("proc/driver/nvidia/gpus") {
		d := f.device(strings.ToLower(addr))
		if d.Driver == "" {
			d.Driver = "nvidia"
		}
		if version != "" {
			d.Version = version
		}
		for line := range strings.Lines(f.text("proc/driver/nvidia/gpus", addr, "information")) {
			key, val, _ := strings.Cut(line, ":")
			val = strings.TrimSpace(val)
			switch strings.TrimSpace(key) {
			case "Model":
				d.Name = val
			case "GPU UUID":
				d.UUID = val
			case "Device Minor":
				d.Nodes = append(d.Nodes, "nvidia"+val)
			}
		}
	}
}

// nvidiaVersion takes the version from "NVRM version: NVIDIA UNIX … 550.54.15  Tue …".
func nvidiaVersion(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	for _, w := range strings.Fields(line) {
		if w[0] >= '0' && w[0] <= '9' && strings.Count(w, ".") >= 1 && strings.Trim(w, "0123456789.") == "" {
			return w
		}
	}
	return ""
}
