package gpu

import (
	"strings"
	"testing"
)

// FuzzNames holds that names and numbers of any sort are taken: base names are
// stable and never empty, and no ioctl is without a name.
func FuzzNames(f *testing.F) {
	f.Add("cuMemcpyHtoD_v2_ptds", "amdgpu", uint32(0xc0186444))
	f.Add("hipLaunchKernel@@hip_4.2", "nvidia-uvm", uint32(51))
	f.Add("_v2_v3@", "", uint32(0x30000001))
	f.Add("\x00_ptsz", "nvidia", uint32(0xffffffff))
	f.Fuzz(func(t *testing.T, symbol, driver string, cmd uint32) {
		base := BaseName(symbol)
		if BaseName(base) != base || !strings.HasPrefix(symbol, base) || (base == "") != (symbol == "") {
			t.Errorf("BaseName(%q) = %q", symbol, base)
		}
		if fn, ok := Lookup(symbol); ok && fn.ArgsFor(symbol) == nil && len(fn.Variants) == 0 {
			t.Errorf("Lookup(%q) = %+v", symbol, fn)
		}
		if IoctlName(driver, cmd) == "" {
			t.Errorf("no name for %#x of %q", cmd, driver)
		}
		if i, ok := LookupIoctl(driver, cmd); ok && i.Driver != "" && driver != "" && Driver(driver) != i.Driver {
			related := map[string]string{"amdkfd": "amdgpu", "nvidia-drm": "nvidia", "nvidia-modeset": "nvidia", "nvidia-uvm": "nvidia"}
			if related[i.Driver] != Driver(driver) {
				t.Errorf("%#x of %q is %s of %q", cmd, driver, i.Name, i.Driver)
			}
		}
		StatusOffset(driver, cmd)
	})
}
