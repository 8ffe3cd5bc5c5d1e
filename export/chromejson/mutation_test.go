package chromejson

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpurec/gpurec/export"
	"github.com/gpurec/gpurec/export/chromejson/check"
	"github.com/gpurec/gpurec/export/picture/picturetest"
)

// Each way in which readers would lose or misplace something without a word is
// found, under the rule that is meant for it.
func TestMutations(t *testing.T) {
	sound := string(write(t, chain(), summary(1_000_000_050, 1_000_001_050), export.Options{}))
	if rep, err := check.Bytes([]byte(sound)); err != nil || rep.Err() != nil {
		t.Fatal(err, rep.Err())
	}
	replace := func(old, with string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, with, 1) }
	}
	drop := func(part string) func(string) string {
		return func(s string) string {
			var keep []string
			gone := false
			for _, l := range strings.Split(s, "\n") {
				if !gone && strings.Contains(l, part) {
					gone = true
					continue
				}
				keep = append(keep, l)
			}
			return strings.Join(keep, "\n")
		}
	}
	const call, wait = `"ts":0.050,"dur":0.100`, `"ts":0.270,"dur":0.480`
	for _, m := range []struct {
		name, rule string
		change     func(string) string
	}{
		{"other members first", "head", replace(`{"traceEvents":[`, `{"otherData":1,"traceEvents":[`)},
		{"no mark", "mark", drop(`"export":1`)},
		{"mark behind an event", "mark", func(s string) string {
			l := strings.SplitN(s, "\n", 5)
			return strings.Join([]string{l[0], l[2], l[1], l[3], l[4]}, "\n")
		}},
		{"mark of another start", "mark", replace(`"start_ns":"1000000050"`, `"start_ns":"1000000051"`)},
		{"mark of another clock", "mark", replace(`"clock":"boottime"`, `"clock":"monotonic"`)},
		{"two marks", "mark", replace(`"name":"GPU 0 (mockgpu)"`, `"name":"GPU 0 (mockgpu)","export":1`)},
		{"no unit", "head", replace(`"displayTimeUnit":"ns"`, `"displayTimeUnit":"ms"`)},
		{"two objects", "json", func(s string) string { return s + "{}" }},
		{"member twice", "json", replace(`"name":"woken"`, `"name":"woken","name":"x"`)},
		{"bytes that are no UTF-8", "utf-8", replace(`"name":"woken"`, "\"name\":\"wo\xff\"")},
		{"time as float", "time", replace(call, `"ts":5e-2,"dur":0.100`)},
		{"time without decimals", "time", replace(call, `"ts":0,"dur":0.150`)},
		{"time as text", "time", replace(call, `"ts":"0.050","dur":0.100`)},
		{"negative length", "time", replace(wait, `"ts":0.270,"dur":-0.480`)},
		{"number beyond doubles", "number", replace(`"result":0`, `"result":9007199254740993`)},
		{"pid 0", "id", replace(`"pid":7,"tid":8,"ts":0.050`, `"pid":0,"tid":8,"ts":0.050`)},
		{"tid too large", "id", replace(`"pid":7,"tid":8,"ts":0.050`, `"pid":7,"tid":4294967296,"ts":0.050`)},
		{"no tid", "id", replace(`"pid":7,"tid":8,"ts":0.050`, `"pid":7,"ts":0.050`)},
		{"slice longer than the one around it", "nesting", replace(wait, `"ts":0.270,"dur":0.900`)},
		{"out of order", "order", replace(wait, `"ts":0.240,"dur":0.480`)},
		{"arrow without start", "flow", drop(`"ph":"s"`)},
		{"arrow without finish", "flow", drop(`"ph":"f"`)},
		{"arrow at no slice", "flow", replace(`"name":"api-ioctl","id":1,"pid":7,"tid":8,"ts":0.060`, `"name":"api-ioctl","id":1,"pid":7,"tid":8,"ts":0.990`)},
		{"arrow away from its slice", "flow", replace(`"name":"api-ioctl","id":1,"pid":7,"tid":8,"ts":0.060`, `"name":"api-ioctl","id":1,"pid":7,"tid":8,"ts":0.061`)},
		{"arrow to the next slice", "flow", replace(`"bp":"e",`, ``)},
		{"arrow of two names", "flow", replace(`"ph":"s","cat":"flow","name":"job-run"`, `"ph":"s","cat":"flow","name":"x"`)},
		{"id as text", "flow", replace(`"id":1,`, `"id":"1",`)},
		{"id twice", "flow", replace(`"id":2,`, `"id":1,`)},
		{"arrow back in time", "flow", replace(`"ph":"f","bp":"e","cat":"flow","name":"fence-wait","id":5,"pid":7,"tid":8,"ts":0.655`, `"ph":"f","bp":"e","cat":"flow","name":"fence-wait","id":5,"pid":7,"tid":8,"ts":0.060`)},
		{"thread not described", "thread", func(s string) string {
			return drop(`"tid":536870915,"args":{"name"`)(drop(`"tid":536870915,"args":{"sort`)(s))
		}},
		{"made thread without name", "thread", drop(`"thread_name","pid":536870913,"tid":536870915`)},
		{"two rows of one name", "thread", replace(`"name":"ring gfx / stages"`, `"name":"ring gfx / queued"`)},
		{"slice without name", "name", replace(`"name":"woken",`, ``)},
		{"begin without end", "phase", replace(`"ph":"X","pid":7`, `"ph":"B","pid":7`)},
		{"value as text", "counter", replace(`"args":{"jobs":1}`, `"args":{"jobs":"1"}`)},
		{"counter of nothing", "counter", replace(`"args":{"jobs":1}`, `"args":{}`)},
		{"counter back in time", "counter", func(s string) string {
			i := strings.LastIndex(s, `"ring gfx / backlog","ts":`)
			return s[:i] + strings.Replace(s[i:], `"ts":0.650`, `"ts":0.001`, 1)
		}},
		{"sort index beyond 32 bits", "args", replace(`"sort_index":1000000}`, `"sort_index":10000000000}`)},
		{"process named twice", "process", func(s string) string {
			const l = `{"ph":"M","name":"process_name","pid":7,"args":{"name":"train"}}`
			return strings.Replace(s, l, l+",\n"+l, 1)
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			broken := m.change(sound)
			if broken == sound {
				t.Fatal("nothing changed")
			}
			// A comma before the end, which a line that is gone may leave, is no
			// matter here.
			broken = strings.Replace(broken, "},\n]", "}\n]", 1)
			rep, err := check.Bytes([]byte(broken))
			if err != nil {
				t.Fatal(err)
			}
			if !rep.Has(m.rule) {
				t.Errorf("not found; problems: %v", rep.Err())
			}
		})
	}
}

// A file that is cut anywhere, or no JSON, is an error and no report.
func TestCut(t *testing.T) {
	sound := write(t, chain(), summary(1_000_000_050, 1_000_001_050), export.Options{})
	for n := 0; n < len(sound)-2; n += 37 {
		if _, err := check.Bytes(sound[:n]); err == nil {
			t.Fatalf("%d bytes of %d are sound", n, len(sound))
		}
	}
}

// Whatever the rows say, the file is sound.
func TestAnyRows(t *testing.T) {
	for seed := range 100 {
		read(t, picturetest.Any(rand.New(rand.NewPCG(uint64(seed), 2))), summary(0, 250))
	}
}
