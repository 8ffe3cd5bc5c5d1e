package rawpages

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/gpurec/gpurec/record/event"
)

// Bounds of what is read whole.
const (
	maxHeader   = 1 << 20 // a format, a header, a clock
	maxText     = 16 << 20
	maxKallsyms = 32 << 20
	maxFormats  = 32 << 20 // bytes of all formats
	maxFiles    = 1 << 16
	maxCPUs     = 8192 // NR_CPUS is at most that
)

// AnomalyUnreadFile counts files of the folder that are there but cannot be read.
var AnomalyUnreadFile = event.AnomalySpec{
	Name: "raw_pages_unread_file", Severity: event.SeverityError,
	Doc:    "a file beside the pages could not be read: what it tells (names, formats, clock) is unknown",
	Remedy: "check its owner and mode",
}

// AnomalyMissingCPU counts events of CPUs whose pages are not in the folder.
var AnomalyMissingCPU = event.AnomalySpec{
	Name: "raw_pages_cpu_missing", Severity: event.SeverityError,
	Doc:    "the counters of a CPU (its stats file) say that its ring buffer held events, and its pages are not there",
	Remedy: "copy the CPU's trace_pipe_raw too (cpuN.raw)",
}

// AnomalyCPUTwice counts files of CPUs of which the folder has pages in several.
var AnomalyCPUTwice = event.AnomalySpec{
	Name: "raw_pages_cpu_twice", Severity: event.SeverityWarning,
	Doc:    "a CPU has pages in several files: all were read, and if one is a copy of the other its events are doubled",
	Remedy: "remove the copy from the folder",
}

// files is what a folder holds; paths are empty where a file is not there.
type files struct {
	headerPage, headerEvent        string
	cmdlines, tgids, clock, printk string
	kallsyms, uname                string
	cpus                           []cpuFile
	formats                        []formatFile
	stats                          map[int32]string
}

type cpuFile struct {
	cpu  int32
	path string
}

type formatFile struct {
	system, path string
}

func sniffDir(dir fs.FS) bool {
	f := list(dir)
	return f.headerPage != "" && len(f.cpus) > 0
}

// list finds the files by their names. Only regular files count: opening a
// FIFO could block.
func list(dir fs.FS) *files {
	f := &files{stats: map[int32]string{}}
	for _, e := range readDir(dir, ".") {
		name := e.Name()
		switch {
		case name == "events":
			f.events(dir, name)
		case name == "per_cpu" && e.IsDir():
			for _, c := range readDir(dir, name) {
				f.cpuDir(dir, name+"/"+c.Name())
			}
		case e.IsDir():
			f.cpuDir(dir, name)
		case !regular(dir, name):
		default:
			f.file(name)
		}
	}
	sort.SliceStable(f.cpus, func(i, j int) bool { return f.cpus[i].cpu < f.cpus[j].cpu })
	if len(f.cpus) > maxCPUs {
		f.cpus = f.cpus[:maxCPUs]
	}
	return f
}

func readDir(dir fs.FS, name string) []fs.DirEntry {
	l, err := fs.ReadDir(dir, name)
	if err != nil || len(l) > maxFiles {
		return nil // no folder of ours: sniffing says so
	}
	return l
}

func regular(dir fs.FS, name string) bool {
	st, err := fs.Stat(dir, name)
	return err == nil && st.Mode().IsRegular()
}

// file takes a file of the folder itself.
func (f *files) file(name string) {
	switch name {
	case "header_page":
		f.headerPage = name
	case "header_event":
		f.headerEvent = name
	case "saved_cmdlines":
		f.cmdlines = name
	case "saved_tgids":
		f.tgids = name
	case "trace_clock":
		f.clock = name
	case "printk_formats":
		f.printk = name
	case "kallsyms", "kallsyms.some":
		f.kallsyms = name
	case "uname":
		f.uname = name
	default:
		base, ext, _ := strings.Cut(name, ".")
		cpu, ok := cpuNumber(base)
		switch {
		case ok && (ext == "raw" || ext == ""):
			f.cpus = append(f.cpus, cpuFile{cpu, name})
		case ok && ext == "stats":
			f.stats[cpu] = name
		}
	}
}

// cpuNumber reads "cpu12".
func cpuNumber(s string) (int32, bool) {
	num, ok := strings.CutPrefix(s, "cpu")
	n, err := strconv.ParseUint(num, 10, 31)
	return int32(n), ok && err == nil && n < maxCPUs && num == strconv.FormatUint(n, 10)
}

// cpuDir takes per_cpu/cpuN, or cpuN.
func (f *files) cpuDir(dir fs.FS, name string) {
	cpu, ok := cpuNumber(path.Base(name))
	if !ok {
		return
	}
	if p := name + "/trace_pipe_raw"; regular(dir, p) {
		f.cpus = append(f.cpus, cpuFile{cpu, p})
	}
	if p := name + "/stats"; regular(dir, p) {
		f.stats[cpu] = p
	}
}

// events takes the folder of formats.
func (f *files) events(dir fs.FS, name string) {
	for _, e := range readDir(dir, name) {
		p := name + "/" + e.Name()
		if e.IsDir() {
			f.system(dir, p, e.Name())
			continue
		}
		if !regular(dir, p) {
			continue
		}
		switch base, ok := strings.CutSuffix(e.Name(), ".format"); {
		case ok:
			system, _, _ := strings.Cut(base, ".")
			f.formats = append(f.formats, formatFile{system, p})
		case e.Name() == "header_page" && f.headerPage == "":
			f.headerPage = p
		case e.Name() == "header_event" && f.headerEvent == "":
			f.headerEvent = p
		}
	}
}

// system takes events/SYSTEM.
func (f *files) system(dir fs.FS, name, system string) {
	for _, e := range readDir(dir, name) {
		p := name + "/" + e.Name()
		if e.IsDir() {
			p += "/format"
		} else if !strings.HasSuffix(p, ".format") {
			continue
		}
		if len(f.formats) < maxFiles && regular(dir, p) {
			f.formats = append(f.formats, formatFile{system, p})
		}
	}
}

// readFile reads a file up to limit bytes; a longer one is an error. Files of
// a live tracefs say that they are empty and are not.
func readFile(dir fs.FS, name string, limit int) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(b) > limit {
		return nil, fmt.Errorf("is longer than %d bytes", limit)
	}
	return b, err
}
