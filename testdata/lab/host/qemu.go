package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Outcome is what became of a task in the guest.
type Outcome struct {
	Task   Task
	Dir    string        // of its results
	Ended  bool          // else the guest died, or the time was over
	Failed []string      // what the guest says went wrong
	Took   time.Duration // on the host's clock
}

// Guest is what became of a guest.
type Guest struct {
	Outcomes []Outcome
	Failed   []string // outside of any task
	Boot     time.Duration
	Console  string // the file that holds all of it

	stop func()
	upAt time.Time // when it said that it is up
	fast bool      // its clock runs too fast, and it was stopped
}

// busses puts a PCI device with an interrupt to spare ("edu") at 0000:04:00.0
// and at 0000:08:00.0: a root bus of a number of our choice, and a port, whose
// bus is the next.
var busses = []string{
	"-device", "pxb-pcie,id=root3,bus_nr=3,bus=pcie.0",
	"-device", "pcie-root-port,id=port4,bus=root3,chassis=4",
	"-device", "edu,bus=port4",
	"-device", "pxb-pcie,id=root7,bus_nr=7,bus=pcie.0",
	"-device", "pcie-root-port,id=port8,bus=root7,chassis=8",
	"-device", "edu,bus=port8",
}

// A host that is busy lets a guest stand still for a minute and more: that is no
// lockup of the guest's.
const kernelArgs = "nosoftlockup rcupdate.rcu_cpu_stall_timeout=300 console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check nokaslr " +
	"cryptomgr.notests random.trust_cpu=on"

// One thread of QEMU runs both of the guest's CPUs in turn: with one for each,
// a CPU may keep an instruction that the other has patched (tracepoints and
// static calls are switched so), and the guest dies in an int3.
const accel = "tcg,thread=single"

// maxBoots bounds how often a guest is booted whose clock is wrong.
const maxBoots = 5

// Boot runs tasks in one guest. An error says that QEMU could not run it; what
// went wrong inside is in the Guest. A guest that the host keeps waiting while it
// boots may find a wrong frequency of its clock, which then runs many times too
// fast; it is booted again, before it runs anything.
func (l *Lab) Boot(ctx context.Context, k *Kernel, initramfs string, tasks []Task, limit time.Duration) (*Guest, error) {
	for try := 1; ; try++ {
		g, err := l.boot(ctx, k, initramfs, tasks, limit)
		if g == nil || !g.fast || try == maxBoots {
			return g, err
		}
		l.Log("kernel %s: its clock runs too fast; boot it again", k.Release)
	}
}

func (l *Lab) boot(ctx context.Context, k *Kernel, initramfs string, tasks []Task, limit time.Duration) (*Guest, error) {
	dir := filepath.Join(l.Out, k.Release)
	if err := writeTasks(filepath.Join(dir, "todo"), tasks); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"qemu-system-x86_64", "-kernel", filepath.Join(k.Dir, "vmlinuz"), "-initrd", initramfs,
		"-accel", accel, "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", "1G",
		"-nographic", "-no-reboot", "-nodefaults", "-no-user-config", "-serial", "stdio",
		"-virtfs", "local,path=" + dir + ",mount_tag=host,security_model=none,multidevs=remap",
		"-append", kernelArgs}, busses...)
	cmd := exec.CommandContext(ctx, "nice", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &Guest{Console: filepath.Join(dir, "console"), stop: cancel}
	readErr := g.follow(out, dir, tasks)
	err = cmd.Wait()
	if g.fast {
		g.Failed = append(g.Failed, "its clock runs too fast: the host is too busy")
		return g, nil
	}
	if ctx.Err() == context.DeadlineExceeded {
		g.Failed = append(g.Failed, fmt.Sprintf("not done after %v: stopped", limit))
		return g, nil
	}
	if err != nil {
		return g, fmt.Errorf("qemu: %w; see %s", err, g.Console)
	}
	return g, readErr
}

var consoleMark = regexp.MustCompile(`@@([A-Z]+) ?(.*)`)

// follow reads the console to its end, keeps it, and picks the marks that the
// guest's scripts print.
func (g *Guest) follow(console io.Reader, dir string, tasks []Task) error {
	keep, err := os.Create(g.Console)
	if err != nil {
		return err
	}
	defer keep.Close()
	start, begun := time.Now(), time.Now()
	in := bufio.NewReader(console)
	for {
		line, err := in.ReadString('\n')
		fmt.Fprintf(keep, "%8.3f %s\n", time.Since(start).Seconds(), strings.TrimRight(line, "\r\n"))
		if m := consoleMark.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			g.mark(m[1], m[2], dir, tasks, start, &begun)
		}
		if err == io.EOF {
			return keep.Close()
		}
		if err != nil {
			return err
		}
	}
}

func (g *Guest) mark(word, rest, dir string, tasks []Task, start time.Time, begun *time.Time) {
	name, _, _ := strings.Cut(rest, " ")
	last := len(g.Outcomes) - 1
	switch word {
	case "UP":
		g.Boot, g.upAt = time.Since(start), time.Now()
	case "CLOCK":
		var up, later float64
		if _, err := fmt.Sscan(rest, &up, &later); err != nil {
			g.Failed = append(g.Failed, "no times in "+rest)
		}
		if g.fast = time.Since(g.upAt).Seconds() < (later-up)/2; g.fast {
			g.stop()
		}
	case "BEGIN":
		*begun = time.Now()
		for _, t := range tasks {
			if t.Name() == name {
				g.Outcomes = append(g.Outcomes, Outcome{Task: t, Dir: filepath.Join(dir, name)})
			}
		}
	case "END":
		if last >= 0 {
			g.Outcomes[last].Ended, g.Outcomes[last].Took = true, time.Since(*begun)
		}
	case "FAIL":
		if last >= 0 && !g.Outcomes[last].Ended {
			g.Outcomes[last].Failed = append(g.Outcomes[last].Failed, rest)
		} else {
			g.Failed = append(g.Failed, rest)
		}
	}
}
