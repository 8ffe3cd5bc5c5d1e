package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// loaders has eight processes load one library, that nobody has loaded before,
// at the same moment, and call it at once.
const loaders = `
import ctypes, os, sys, time
at = time.time() + 0.5
for _ in range(8):
    if os.fork() == 0:
        time.sleep(max(0, at - time.time()))
        lib = ctypes.CDLL(sys.argv[1])
        for _ in range(50):
            lib.cuInit(0)
        os._exit(0)
for _ in range(8):
    os.wait()
`

// All processes that load a library before its probes are in place wait for
// them, not only the first: ranks of a job begin together.
func TestRecordManyLoad(t *testing.T) {
	built := filepath.Join(workload(t), "build", "libcuda.so.1")
	tmp := t.TempDir()
	lib, log := filepath.Join(tmp, "libcuda.so.1"), filepath.Join(tmp, "run.gpurec")
	copyFile(t, built, lib)
	if r := gpurec(t, "record", "-o", log, "--", "python3", "-c", loaders, lib); r.code != 0 {
		t.Fatalf("status %d\n%s", r.code, r.stderr)
	}
	_, rows := logRows(t, log)
	if len(rows.Losses) > 0 || len(rows.APICalls) != 8*50 {
		t.Errorf("%d calls are recorded, losses %+v; want %d", len(rows.APICalls), rows.Losses, 8*50)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	r, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
