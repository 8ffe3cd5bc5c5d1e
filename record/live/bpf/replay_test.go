package bpf

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/gpu"
)

// replay is a capture of raw records: testdata/replay.json names the probed
// functions in the order of their ids, and tells what the recorded program
// said of itself; testdata/replay.bin holds the records, each behind its length.
type replay struct {
	Symbols []string
	PID     int32
	Ptr, Fn uint64 // the address and the handle that the program was given
}

// TestReplay converts a capture as it was recorded. GPUREC_CAPTURE=1, as root,
// makes a new one.
func TestReplay(t *testing.T) {
	if os.Getenv("GPUREC_CAPTURE") != "" {
		capture(t)
	}
	text, err := os.ReadFile("testdata/replay.json")
	if err != nil {
		t.Fatal(err)
	}
	var r replay
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	var syms symbols
	var list []*symbol
	for _, n := range r.Symbols {
		fn, ok := gpu.Lookup(n)
		if !ok {
			t.Fatalf("no function %s", n)
		}
		list = append(list, newSymbol(&site{symbol: n, fn: fn}, "libcuda.so.1", false))
	}
	syms.add(list)
	f, err := os.Open("testdata/replay.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newConverter(&syms)
	var b event.Batch
	records := 0
	for in := bufio.NewReader(f); ; records++ {
		var n uint32
		if err := binary.Read(in, binary.LittleEndian, &n); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		rec := make([]byte, n)
		if _, err := io.ReadFull(in, rec); err != nil {
			t.Fatal(err)
		}
		c.convert(rec, &b)
	}
	for _, a := range c.anomalies.List() {
		t.Errorf("anomaly %s: %d", a.Name, a.Count)
	}
	if len(b.Events) != records {
		t.Errorf("%d events of %d records", len(b.Events), records)
	}
	checkReplay(t, &r, b.Events)
}

// checkReplay knows what the words "args 1 launch 3 fork 2 ioctl 2" of the test program do.
func checkReplay(t *testing.T, r *replay, events []event.Event) {
	got := map[string]int{}
	for i := range events {
		e := &events[i]
		key := e.Kind.String() + " " + e.Str(event.FieldName)
		if e.Kind == event.KindTask {
			op, _ := e.Uint(event.FieldTaskOp)
			key = "task " + event.TaskOp(op).String()
		}
		if e.PID != r.PID {
			key += " in the child"
		}
		got[key]++
		fn, _ := e.Uint(event.FieldFunction)
		stream, _ := e.Uint(event.FieldStream)
		switch {
		case e.Kind == event.KindAPI && e.Str(event.FieldName) == "cuLaunchKernel" && stream != 0x77:
			t.Errorf("stream %#x", stream)
		case e.Kind == event.KindAPI && fn == r.Fn && e.Str(event.FieldKernelName) != "_Z6kernelPf":
			t.Errorf("%s of %#x: kernel %q", e.Str(event.FieldName), fn, e.Str(event.FieldKernelName))
		case e.Kind == event.KindAPIExit && e.Str(event.FieldName) == "cuMemAlloc_v2":
			if p, _ := e.Uint(event.FieldAddress); p != r.Ptr {
				t.Errorf("address %#x, want %#x", p, r.Ptr)
			}
		}
	}
	want := map[string]int{
		"api_enter cuModuleLoadData": 1, "api_exit cuModuleLoadData": 1,
		"api_enter cuModuleGetFunction": 1, "api_exit cuModuleGetFunction": 1,
		"api cuLaunchKernel": 1 + 3, "api cuLaunchKernelEx": 1,
		"api_enter cuMemAlloc_v2": 1, "api_exit cuMemAlloc_v2": 1,
		"api_enter cuMemcpyHtoD_v2": 1, "api_exit cuMemcpyHtoD_v2": 1, "api cuMemcpyHtoDAsync_v2": 1,
		"api cuMemsetD32Async": 1, "api_enter cuMemFree_v2": 1, "api_exit cuMemFree_v2": 1,
		"api_enter cuStreamSynchronize": 1, "api_exit cuStreamSynchronize": 1,
		"task fork": 1, "api cuLaunchKernel in the child": 2, "task exit in the child": 1,
		"ioctl_enter ": 2, "ioctl_exit ": 2, "task exit": 1,
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%q: %d events, want %d", k, got[k], n)
		}
		delete(got, k)
	}
	for k, n := range got {
		t.Errorf("%q: %d events, want none", k, n)
	}
}

// capture records the test program anew.
func capture(t *testing.T) {
	f := stub(t)
	p := startProg(t, "preload", f.lib, "args", "1", "launch", "3", "fork", "2", "ioctl", "2")
	s := New(Options{PIDs: []int{p.pid}, Libraries: []string{f.lib}, NoSystemLibraries: true})
	var raw []byte
	s.conv.tap = func(rec []byte) {
		raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(rec))), rec...)
	}
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p.goOn()
	r := replay{PID: int32(p.pid), Ptr: p.value("ptr"), Fn: p.value("fn")}
	p.wait()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	for s.Read(&b, 0) == nil {
	}
	for _, sym := range s.symbols.all() {
		r.Symbols = append(r.Symbols, sym.name)
	}
	text, err := json.MarshalIndent(&r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"testdata/replay.json": append(text, '\n'), "testdata/replay.bin": raw} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
