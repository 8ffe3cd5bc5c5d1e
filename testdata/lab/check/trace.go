package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

// Trace is what the guest's own trace instance held.
type Trace struct {
	Events    []event.Event // in the order of their times; of equal times, CPU by CPU
	Lost      uint64        // by the kernel's count (overrun, dropped events)
	Whole     event.Time    // nothing is missing from then on: a full ring buffer loses its beginning
	Anomalies []event.Anomaly
}

// ReadTrace decodes the raw pages of a run.
func ReadTrace(dir string) (*Trace, error) {
	d, err := decoder(dir)
	if err != nil {
		return nil, err
	}
	t := &Trace{}
	var b event.Batch
	for cpu := int32(0); ; cpu++ {
		name := filepath.Join(dir, "raw", fmt.Sprintf("cpu%d", cpu))
		pages, err := os.ReadFile(name + ".raw")
		if os.IsNotExist(err) && cpu > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		at := len(b.Events)
		for len(pages) > 0 {
			n := min(4096, len(pages))
			d.Page(cpu, pages[:n], &b)
			pages = pages[n:]
		}
		lost, err := readLost(name + ".stats")
		if err != nil {
			return nil, err
		}
		if t.Lost += lost; lost > 0 {
			t.Whole = max(t.Whole, firstTime(b.Events[at:]))
		}
	}
	t.Events = b.Events
	sort.SliceStable(t.Events, func(i, j int) bool { return t.Events[i].Time < t.Events[j].Time })
	t.Anomalies = d.Counters().List()
	return t, nil
}

// firstTime is the time of the first event of a CPU that is not the loss before it.
func firstTime(events []event.Event) event.Time {
	for i := range events {
		if events[i].Kind != event.KindLoss {
			return events[i].Time
		}
	}
	return event.Time(math.MaxInt64)
}

func decoder(dir string) (*ftrace.Decoder, error) {
	page, err := os.ReadFile(filepath.Join(dir, "header_page"))
	if err != nil {
		return nil, err
	}
	head, err := os.ReadFile(filepath.Join(dir, "header_event"))
	if err != nil {
		return nil, err
	}
	layout, err := ftrace.ParseLayout(page, head, binary.LittleEndian)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "formats", "*"))
	if err != nil {
		return nil, err
	}
	var formats []*ftrace.Format
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		system, _, _ := strings.Cut(filepath.Base(name), ".")
		f, err := ftrace.ParseFormat(system, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		formats = append(formats, f)
	}
	d, err := ftrace.NewDecoder(layout, formats, ftrace.DecoderOptions{})
	if err != nil {
		return nil, err
	}
	tgids, err := os.ReadFile(filepath.Join(dir, "saved_tgids"))
	if err != nil {
		return nil, err
	}
	d.SavedTGIDs(tgids)
	return d, nil
}

// readLost sums what a CPU's stats say is lost.
func readLost(name string) (uint64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	total := uint64(0)
	for _, l := range strings.Split(string(text), "\n") {
		word, value, ok := strings.Cut(l, ": ")
		if !ok || word != "overrun" && word != "dropped events" {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += n
	}
	return total, nil
}
