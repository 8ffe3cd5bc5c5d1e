package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A real browser fetches from the server as the UI does: by a script of a page
// of the allowed origin. The page is served here, on a port of its own, which
// makes it another origin than the trace's.

// chromium finds the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Skip("no chromium here (Debian: apt-get install chromium): the server is tested without a browser alone")
	return ""
}

// stage is the origin of a page that runs a script in the browser, once.
type stage struct {
	*httptest.Server
	said  chan string   // what the script reported
	ready chan struct{} // closed when a browser starts: all that the script needs is set
}

// newStage serves a page whose script is the body of an async function that
// returns what is to be reported.
func newStage(t *testing.T, script func() string) *stage {
	t.Helper()
	s := &stage{said: make(chan string, 1), ready: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/said" {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			select {
			case s.said <- string(b):
			default:
			}
			return
		}
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		<-s.ready
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>stage</title><script>
const get = async (url) => {
  try {
    const r = await fetch(url);
    const b = await r.arrayBuffer();
    return r.status + " " + b.byteLength;
  } catch (e) { return "refused"; }
};
(async () => {
  let out;
  try { out = await (async () => { %s })(); } catch (e) { out = "failed: " + e; }
  await fetch("/said", {method: "POST", body: JSON.stringify(out)});
})();
</script>`, script())
	}))
	t.Cleanup(s.Close)
	return s
}

// browse opens the stage's page and returns what its script reported.
func (s *stage) browse(t *testing.T, browser string) []string {
	t.Helper()
	// A guard against a browser that hangs, not a measure of its speed.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := browserDir(t)
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--disable-breakpad", "--user-data-dir="+filepath.Join(dir, "profile"), "--remote-debugging-port=0", s.URL+"/")
	c.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	close(s.ready)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer cancel()
	select {
	case text := <-s.said:
		var out []string
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("the page said %s", text)
		}
		return out
	case <-ctx.Done():
		t.Fatal("the page reported nothing within ten minutes")
	}
	return nil
}

// browserDir makes a folder for one browser. Its processes outlive the first
// by a moment and go on writing, so that t.TempDir, which fails the test when
// a file appears while it removes, does not fit.
func browserDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gpurec-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("left behind: %v", err)
	})
	return dir
}

// serveSize serves a file of a size to an origin.
func serveSize(t *testing.T, origin string, size int) (*traceServer, chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newTraceServer(writeFile(t, "run 1.pftrace", strings.Repeat("x", size)), origin, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- s.serve(t.Context(), l, time.Minute) }()
	return s, result
}

func TestBrowserFetchesOnce(t *testing.T) {
	browser := chromium(t)
	const size = 3 << 20
	var trace *traceServer
	// A wrong path, the trace, and the trace again.
	st := newStage(t, func() string {
		return fmt.Sprintf(`const url = %q, wrong = %q;
			return [await get(wrong), await get(url), await get(url)];`, trace.url(), "http://"+trace.host+"/run%201.pftrace")
	})
	var result chan error
	trace, result = serveSize(t, st.URL, size)
	got := st.browse(t, browser)
	// The server says 404 to the one origin; after the fetch it refuses, or is gone.
	if len(got) != 3 || !strings.HasPrefix(got[0], "404 ") || got[1] != fmt.Sprintf("200 %d", size) || got[2] != "refused" && !strings.HasPrefix(got[2], "410 ") {
		t.Errorf("the browser saw %q", got)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// Two clients at once: one gets the trace, the other nothing.
func TestBrowserSecondClient(t *testing.T) {
	browser := chromium(t)
	const size = 32 << 20
	var trace *traceServer
	st := newStage(t, func() string {
		return fmt.Sprintf(`const url = %q;
			return await Promise.all([get(url), get(url + "?second")]);`, trace.url())
	})
	trace, _ = serveSize(t, st.URL, size)
	whole, gone := 0, 0
	got := st.browse(t, browser)
	for _, g := range got {
		switch {
		case g == fmt.Sprintf("200 %d", size):
			whole++
		case strings.HasPrefix(g, "410 "), g == "refused":
			gone++
		}
	}
	if whole != 1 || gone != 1 {
		t.Errorf("the browser saw %q", got)
	}
}

// A page of another origin gets nothing, though it knows the path; nor does one
// that asks without telling who it is.
func TestBrowserOtherOrigin(t *testing.T) {
	browser := chromium(t)
	var trace *traceServer
	st := newStage(t, func() string {
		return fmt.Sprintf(`const url = %q;
			const blind = await fetch(url, {mode: "no-cors"}).then(r => r.type + " " + r.status, () => "refused");
			return [await get(url), blind];`, trace.url())
	})
	trace, _ = serveSize(t, uiOrigin, 1000)
	got := st.browse(t, browser)
	if len(got) != 2 || got[0] != "refused" || got[1] != "opaque 0" && got[1] != "refused" {
		t.Errorf("the browser saw %q", got)
	}
	if trace.busy() || trace.done {
		t.Error("the trace was given away")
	}
}

// The whole command, with the page in the UI's place.
func TestBrowserOpenCommand(t *testing.T) {
	browser := chromium(t)
	if l, err := net.Listen("tcp", openAddr); err != nil {
		t.Skipf("%s is in use here: %v", openAddr, err)
	} else {
		l.Close()
	}
	var url string
	st := newStage(t, func() string {
		return fmt.Sprintf(`const r = await fetch(%q);
			const b = new Uint8Array(await r.arrayBuffer());
			return [r.status + "", b.length + "", b[0] + ""];`, url)
	})
	c := exec.Command(os.Args[0], "open", "--browser=none", "--origin", st.URL, demoLog)
	c.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+t.TempDir(), "SSH_CONNECTION=")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	url = traceURL(t, out, st.URL)
	got := st.browse(t, browser)
	// The file is a Perfetto trace: it begins with the tag of a packet.
	if len(got) != 3 || got[0] != "200" || got[1] < "1" || got[2] != "10" {
		t.Errorf("the browser saw %q", got)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// traceURL reads the address that open prints, and the trace's in it.
func traceURL(t *testing.T, out io.Reader, origin string) string {
	t.Helper()
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(line[:n]))
	_, q, ok := strings.Cut(text, origin+"/#!/?")
	if !ok {
		t.Fatalf("open printed %q", text)
	}
	v, err := parseQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parseQuery(q string) (string, error) {
	r, err := http.NewRequest("GET", "http://x/?"+q, nil)
	if err != nil {
		return "", err
	}
	return r.URL.Query().Get("url"), nil
}
