package bpf

import "testing"

func TestDetect(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Detect() {
		t.Logf("%-22s %v %s", c.Name, c.OK, c.Reason)
		if names[c.Name] {
			t.Errorf("%s is told twice", c.Name)
		}
		names[c.Name] = true
		if !c.OK && (c.Reason == "" || c.Effect == "") {
			t.Errorf("%s: missing, but not said why and what is lost: %+v", c.Name, c)
		}
		if c.OK && c.Reason+c.Effect+c.Remedy != "" {
			t.Errorf("%s works, but has excuses: %+v", c.Name, c)
		}
	}
	if !names["bpf maps"] {
		t.Error("bpf maps are not told")
	}
}
