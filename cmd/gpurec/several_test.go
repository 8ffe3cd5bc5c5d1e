package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every verb that reads a trace takes several, and makes of them what it makes
// of their merged log.
func TestSeveralInputsInEveryVerb(t *testing.T) {
	log, kineto := launchedTwice(t, 40)
	all := filepath.Join(t.TempDir(), "all.gpurec")
	must(t, "import", "-q", log, kineto, "-o", all)
	stable := func(s string) string { // without what names the inputs and what wrote the log
		var l []string
		for line := range strings.Lines(s) {
			if !strings.Contains(line, "gpurec") && !strings.Contains(line, `"format"`) && !strings.Contains(line, "metadata") && !strings.Contains(line, "trace.json") {
				l = append(l, line)
			}
		}
		return strings.Join(l, "")
	}
	for _, verb := range [][]string{{"info"}, {"info", "--json"}, {"report"}, {"report", "--json"}, {"correlate"}, {"correlate", "--json"}, {"correlate", "--explain", "api_calls:3"}} {
		one := must(t, append(verb, all)...)
		r := gpurec(t, append(verb, log, kineto)...)
		if r.code != 0 || stable(r.stdout) != stable(one) || len(stable(one)) < 20 {
			t.Errorf("%v of both: status %d\n%s\nof their log:\n%s", verb, r.code, r.stdout, one)
		}
		if strings.Count(r.stderr, "agree") != 1 {
			t.Errorf("%v says how they were aligned:\n%s", verb, r.stderr)
		}
		if r := gpurec(t, append(verb, "-q", log, kineto)...); r.stderr != "" {
			t.Errorf("%v -q says %s", verb, r.stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "x.pftrace")
	r := gpurec(t, "export", log, kineto, "-o", out, "--offset", "2=0")
	if st, err := os.Stat(out); r.code != 0 || err != nil || st.Size() == 0 || !strings.Contains(r.stderr, "by stated") {
		t.Errorf("export: status %d: %s", r.code, r.stderr)
	}
	for _, verb := range []string{"info", "report", "correlate", "export", "open"} {
		if r := gpurec(t, verb); r.code != 2 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s of nothing: status %d: %s", verb, r.code, r.stderr)
		}
		if r := gpurec(t, verb, log, "-o", out, "--offset", "1=5"); r.code != 2 {
			t.Errorf("%s of one input with an offset: status %d: %s", verb, r.code, r.stderr)
		}
	}
}

// twoProfilers are Kineto's and rocprofv3's traces of one run: n launches whose
// kernels take 10 µs each, the second's clock 400 ns late, its numbers of calls
// 1000 higher, its names mangled, its queue another one's number.
func twoProfilers(t *testing.T, n int) (kineto, rocprof string) {
	const unix = 1_700_000_000_000_000_000
	var k, calls, kernels strings.Builder
	fmt.Fprintf(&k, `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "MI300X"}], "baseTimeNanoseconds": %d, "traceEvents": [`, int64(unix))
	us := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
	for i := range n {
		at, sep := int64(5e9)+int64(i)*50_000+int64(i*i%17)*1_300, ","
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(&k, "%s\n"+`{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 42, "tid": 43, "ts": %s, "dur": 5, "args": {"correlation": %d}},`, sep, us(at), i+1)
		fmt.Fprintf(&k, `{"ph": "X", "cat": "kernel", "name": "void add<float>(float*)", "pid": 0, "tid": 3, "ts": %s, "dur": 10, "args": {"device": 0, "stream": 3, "correlation": %d}}`, us(at+20_000), i+1)
		fmt.Fprintf(&calls, `%s{"kind": 1, "operation": 1, "thread_id": 43, "correlation_id": {"internal": %d}, "start_timestamp": %d, "end_timestamp": %d}`, sep, i+1001, at+400, at+5400)
		fmt.Fprintf(&kernels, `%s{"kind": 2, "operation": 1, "thread_id": 43, "correlation_id": {"internal": %d}, "start_timestamp": %d, "end_timestamp": %d, `+
			`"dispatch_info": {"agent_id": {"handle": 7}, "queue_id": {"handle": 3}, "kernel_id": 3, "dispatch_id": %d, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 64, "y": 1, "z": 1}}}`,
			sep, i+1001, at+20_400, at+30_400, i)
	}
	k.WriteString("]}\n")
	r := `{"rocprofiler-sdk-tool": [{"metadata": {"pid": 42, "init_time": 1, "fini_time": 2, "command": ["train"], "node": {"hostname": "n1"}},
 "agents": [{"id": {"handle": 7}, "type": 2, "node_id": 4, "logical_node_type_id": 0, "name": "gfx942", "product_name": "MI300X", "location_id": 1280, "domain": 1}],
 "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel"]}, {"kind": "KERNEL_DISPATCH", "operations": ["none", "complete"]}]},
 "kernel_symbols": [{"kernel_id": 3, "kernel_name": "_Z3addPf.kd", "formatted_kernel_name": "void add<(float)>(float *)"}],
 "buffer_records": {"kernel_dispatch": [` + kernels.String() + `], "hip_api": [` + calls.String() + `]}}]}` + "\n"
	return writeFile(t, "trace.json", k.String()), writeFile(t, "results.json", r)
}

// What two profilers told of one run counts once: calls and kernels, in info and
// in the report, whatever their numbers of calls are.
func TestTwoProfilersOfOneRun(t *testing.T) {
	kineto, rocprof := twoProfilers(t, 60)
	all := filepath.Join(t.TempDir(), "all.gpurec")
	// Nothing but the calls relates rocprofv3's BOOTTIME to Kineto's Unix time.
	r := gpurec(t, "import", kineto, rocprof, "-o", all)
	if r.code != 0 || strings.Contains(r.stderr, "unaligned") {
		t.Fatalf("status %d: %s", r.code, r.stderr)
	}
	var j joinsResult
	if err := json.Unmarshal([]byte(must(t, "correlate", "--json", all)), &j); err != nil {
		t.Fatal(err)
	}
	links := map[string]uint64{}
	for _, l := range j.Links {
		links[l.Rule] += l.Count
	}
	if j.Rows["gpu_activities"] != 120 || j.Rows["api_calls"] != 120 || links["same-activity"] != 60 || links["same-call"] != 60 || links["correlation-id"] != 120 {
		t.Errorf("rows %v, links %v", j.Rows, links)
	}
	var i struct {
		GPUActivities map[string]int `json:"gpu_activities"`
		Devices       []struct{ Device string }
	}
	if err := json.Unmarshal([]byte(must(t, "info", "--json", all)), &i); err != nil {
		t.Fatal(err)
	}
	if i.GPUActivities["kernel"] != 60 || len(i.Devices) != 1 || i.Devices[0].Device != "0001:05:00.0" {
		t.Errorf("info: %+v", i)
	}
	var rep struct {
		API []struct {
			Name  string
			Calls int
		} `json:"api_calls"`
		Work []struct {
			Count  int
			SumNS  int64 `json:"sum_ns"`
			BusyNS int64 `json:"busy_ns"`
		} `json:"gpu_devices"`
	}
	if err := json.Unmarshal([]byte(must(t, "report", "--json", all)), &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.API) != 1 || rep.API[0].Calls != 60 {
		t.Errorf("calls %+v", rep.API)
	}
	if len(rep.Work) != 1 || rep.Work[0].Count != 60 || rep.Work[0].SumNS != 600_000 || rep.Work[0].BusyNS != 600_000 {
		t.Errorf("work %+v", rep.Work) // 60 kernels of 10 µs, one after the other
	}
}
