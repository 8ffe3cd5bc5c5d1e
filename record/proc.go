package record

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

// procStat is what /proc/PID/stat tells.
type procStat struct {
	comm  string
	state byte
	ppid  int
	start uint64 // ticks since boot, of 10 ms (USER_HZ is 100 on every architecture that Go knows)
	// exiting says that the task is ending or has ended. It is set before the
	// task's exit event (PF_EXITING; do_exit in kernel/exit.c).
	exiting bool
}

// pfExiting is the kernel's flag (include/linux/sched.h).
const pfExiting = 0x4

// tickNS is the length of a tick of /proc in ns.
const tickNS = 10_000_000

func readStat(pid int) (procStat, error) { return readStatFile(fmt.Sprintf("/proc/%d/stat", pid)) }

func readStatFile(name string) (procStat, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return procStat{}, plainError(err)
	}
	return parseStat(string(b))
}

// parseStat reads "PID (NAME) STATE PPID …": the name may hold blanks and parentheses.
func parseStat(s string) (procStat, error) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return procStat{}, fmt.Errorf("not a stat line: %.40q", s)
	}
	f := strings.Fields(s[end+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return procStat{}, fmt.Errorf("not a stat line: %.40q", s)
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return procStat{}, fmt.Errorf("stat line: parent: %w", err)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("stat line: start time: %w", err)
	}
	flags, err := strconv.ParseUint(f[6], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("stat line: flags: %w", err)
	}
	st := procStat{comm: s[open+1 : end], state: f[0][0], ppid: ppid, start: start}
	st.exiting = flags&pfExiting != 0 || st.state == 'Z' || st.state == 'X'
	return st, nil
}

func startTicks(pid int) (uint64, error) {
	st, err := readStat(pid)
	return st.start, err
}

func processState(pid int) (byte, error) {
	st, err := readStat(pid)
	return st.state, err
}

// processOf returns the process of a thread; tid itself if that is not known.
func processOf(tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return tid
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
				return pid
			}
		}
	}
	return tid
}

// namespacePID returns what a process or thread is called in its own pid
// namespace, from its file status; ok is false if that is the one of gpurec.
func namespacePID(status string) (pid int, ok bool) {
	b, err := os.ReadFile(status)
	if err != nil {
		return 0, false // it has ended
	}
	return parseNamespacePID(string(b))
}

// parseNamespacePID reads the line NSpid: the number in each namespace, from
// that of the reader of /proc inwards (proc_pid_status, since Linux 4.1).
func parseNamespacePID(status string) (pid int, ok bool) {
	for line := range strings.SplitSeq(status, "\n") {
		if v, found := strings.CutPrefix(line, "NSpid:"); found {
			f := strings.Fields(v)
			if len(f) < 2 {
				return 0, false
			}
			pid, err := strconv.Atoi(f[len(f)-1])
			return pid, err == nil
		}
	}
	return 0, false
}

// numericDir lists the names of a directory that are numbers, ascending.
func numericDir(dir string) []int {
	f, err := os.Open(dir)
	if err != nil {
		return nil // gone, or hidden: nothing is known of it
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // what could be read counts
	var ids []int
	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ids = append(ids, id)
		}
	}
	sort.Ints(ids)
	return ids
}

// descendants returns the targets that live, and everything that descends from them.
func descendants(targets []target) []int {
	children := make(map[int][]int)
	alive := make(map[int]uint64)
	for _, pid := range numericDir("/proc") {
		st, err := readStat(pid)
		if err != nil || st.state == 'Z' {
			continue // it has ended
		}
		alive[pid] = st.start
		children[st.ppid] = append(children[st.ppid], pid)
	}
	var out []int
	seen := make(map[int]bool)
	var visit func(pid int)
	visit = func(pid int) {
		if seen[pid] {
			return
		}
		seen[pid] = true
		out = append(out, pid)
		for _, c := range children[pid] {
			visit(c)
		}
	}
	for _, t := range targets {
		if start, ok := alive[t.pid]; ok && (t.start == 0 || t.start == start) {
			visit(t.pid)
		}
	}
	return out
}
