package picture

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpurec/gpurec/correlate"
)

type pageRow struct {
	a, b int64
	c    uint8
}

// Two tables of which hardly anything fits into memory hold what maps hold.
func TestPagesOnFile(t *testing.T) {
	dir := t.TempDir()
	s := &pages{dir: dir, least: 2}
	var rows table[pageRow]
	var heads table[uint32]
	rows.init(s)
	heads.init(s)
	r := rand.New(rand.NewPCG(1, 2))
	wantRows, wantHeads := map[correlate.ID]pageRow{}, map[correlate.ID]uint32{}
	ids := []correlate.ID{0, 1, 2, 1<<62 + 5}
	for range 5000 {
		ids = append(ids, correlate.ID(r.Int64N(200_000)))
	}
	for range 40_000 {
		id := ids[r.IntN(len(ids))]
		switch r.IntN(4) {
		case 0:
			v := pageRow{r.Int64(), r.Int64(), uint8(r.Uint32())}
			if *rows.put(id) = v; id > 0 {
				wantRows[id] = v
			}
		case 1:
			if *heads.put(id) = uint32(id) + 7; id > 0 {
				wantHeads[id] = uint32(id) + 7
			}
		case 2:
			if got := rows.get(id); got != wantRows[id] {
				t.Fatalf("row %d: %v, want %v", id, got, wantRows[id])
			}
		case 3:
			if got := heads.get(id); got != wantHeads[id] {
				t.Fatalf("head %d: %d, want %d", id, got, wantHeads[id])
			}
		}
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	if len(s.resident) > 3 || s.held > 3*pageBytes {
		t.Errorf("%d pages, %d bytes in memory", len(s.resident), s.held)
	}
	if s.size == 0 {
		t.Error("nothing went to the file")
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An error of the file sticks, and nothing panics after it.
func TestPagesError(t *testing.T) {
	s := &pages{dir: filepath.Join(t.TempDir(), "missing"), least: 1}
	var rows table[pageRow]
	rows.init(s)
	for i := correlate.ID(1); i < 100_000; i += 500 {
		rows.put(i).a = 1
	}
	if s.err == nil {
		t.Fatal("no error")
	}
	for i := correlate.ID(1); i < 100_000; i += 500 {
		rows.get(i)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
