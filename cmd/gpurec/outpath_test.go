package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpurec/gpurec/record/event"
)

func TestOutputPath(t *testing.T) {
	dir := t.TempDir()
	meta := &event.Meta{Host: event.Host{Name: "node 7/a", BootID: "1f-2"}}
	for to, want := range map[string]string{
		"x.pftrace":                  "x.pftrace",
		"host={host}/run={run}/":     "host=node%207%2Fa/run=step-12/",
		"{run}@{boot}.pftrace":       "step-12@1f-2.pftrace",
		"a/{run}/b/{host}.json":      "a/step-12/b/node%207%2Fa.json",
		"it {is} no one's/x.pftrace": "",
	} {
		got, err := outputPath(filepath.Join(dir, to)+map[bool]string{true: "/"}[to[len(to)-1] == '/'], "/logs/step-12.gpurec", meta)
		if want == "" {
			if err == nil {
				t.Errorf("%s is %s", to, got)
			}
			continue
		}
		if w := dir + "/" + want; got != w || err != nil {
			t.Errorf("%s is %s, not %s: %v", to, got, w, err)
		}
		if st, err := os.Stat(filepath.Dir(filepath.Clean(got))); err != nil || !st.IsDir() {
			t.Errorf("%s: its directory is not there", got)
		}
	}
	if got, _ := outputPath(dir+"/h={host}/r={run}/", "-", &event.Meta{}); got != dir+"/h="+noPartition+"/r="+noPartition+"/" {
		t.Errorf("unknown values: %s", got)
	}
	for in, want := range map[string]string{"a/b.trace.json.gz": "b.trace", "x": "x", "x.gpurec.zst": "x"} {
		if got := runName(in); got != want {
			t.Errorf("%s is run %s", in, got)
		}
	}
	if got := partition(".."); got != "%2E." {
		t.Errorf("a host that is called .. makes %s", got)
	}
}
