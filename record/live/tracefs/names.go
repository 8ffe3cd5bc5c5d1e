package tracefs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpurec/gpurec/record/event"
	"github.com/gpurec/gpurec/record/ftrace"
)

// names completes events, which carry a thread's number only, by its process
// and its name. They come from /proc, soon after the event: a number is not
// given again within seconds. Threads that have ended by then stay without.
type names struct {
	dec   *ftrace.Decoder
	fs    *FS
	known [1024]named
	saved time.Time // when saved_cmdlines was read
}

// named is a thread that was looked up.
type named struct {
	tid, pid int32
	comm     string
	until    int64 // unix ns; then it is looked up again
}

const (
	nameLife   = 2 * time.Second
	savedEvery = time.Second
)

func (n *names) complete(e *event.Event, now time.Time) {
	if e.TID <= 0 {
		return // the idle task, or unknown
	}
	c := &n.known[uint32(e.TID)%uint32(len(n.known))]
	if c.tid != e.TID || c.until < now.UnixNano() {
		n.lookUp(c, e.TID, now)
	}
	e.PID = c.pid
	if c.comm != "" {
		e.Comm = c.comm
	}
}

func (n *names) lookUp(c *named, tid int32, now time.Time) {
	if c.tid != tid {
		*c = named{tid: tid, pid: event.NoID}
	}
	c.until = now.Add(nameLife).UnixNano()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		// It has ended. What was known of it before holds; else the kernel may
		// have kept its name.
		if c.comm == "" && now.Sub(n.saved) > savedEvery {
			n.saved = now
			if text, err := n.fs.read("saved_cmdlines"); err == nil {
				n.dec.SavedCmdlines([]byte(text))
			}
		}
		return
	}
	c.pid, c.comm = parseStatus(string(b))
	n.dec.SetTask(tid, c.pid, c.comm)
}

// parseStatus takes the name and the process of a thread from /proc/TID/status.
func parseStatus(s string) (pid int32, comm string) {
	pid = event.NoID
	for line := range strings.Lines(s) {
		key, val, _ := strings.Cut(line, ":")
		switch key {
		case "Name":
			comm = unescape(strings.TrimSuffix(strings.TrimPrefix(val, "\t"), "\n"))
		case "Tgid":
			if n, err := strconv.ParseInt(strings.TrimSpace(val), 10, 32); err == nil {
				pid = int32(n)
			}
			return pid, comm
		}
	}
	return pid, comm
}

// unescape undoes what the kernel does to names in status: \n and \\.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(s)
}
