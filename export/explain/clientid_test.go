package explain

import "testing"

// A driver's own jobs have ids of no client, counted down from 2^64.
func TestClientIDOfTheDriver(t *testing.T) {
	for id, want := range map[uint64]string{
		12:          "client id 12",
		1<<64 - 1:   "client id 2^64-1 (no client's: the driver's own job)",
		1<<64 - 256: "client id 2^64-256 (no client's: the driver's own job)",
		1<<64 - 257: "client id 18446744073709551359",
	} {
		r := Row{Columns: map[string]any{"client_id": id}}
		if got := r.fact("client_id"); got != want {
			t.Errorf("%d: %s, want %s", id, got, want)
		}
	}
}
