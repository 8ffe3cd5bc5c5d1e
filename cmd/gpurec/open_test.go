package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// serveTrace starts a server for a file of the given content, on any port.
func serveTrace(t *testing.T, content string) (s *traceServer, result chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err = newTraceServer(writeFile(t, "run 1.pftrace", content), uiOrigin, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	result = make(chan error, 1)
	go func() { result <- s.serve(t.Context(), l, time.Minute) }()
	return s, result
}

type ask struct {
	method, path, origin, host string
}

func (a ask) do(t *testing.T, s *traceServer) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(a.method, "http://"+s.host+(&url.URL{Path: a.path}).EscapedPath(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.origin != "" {
		r.Header.Set("Origin", a.origin)
	}
	if a.host != "" {
		r.Host = a.host
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// Only the page of the one origin that knows the path gets the file, and once.
func TestTraceServerRefusesOthers(t *testing.T) {
	const secret = "the trace"
	s, result := serveTrace(t, secret)
	for name, a := range map[string]ask{
		"other origin":       {"GET", s.path, "https://evil.example", ""},
		"no origin":          {"GET", s.path, "", ""},
		"null origin":        {"GET", s.path, "null", ""},
		"origin as a prefix": {"GET", s.path, uiOrigin + ".evil.example", ""},
		"rebound name":       {"GET", s.path, uiOrigin, "evil.example:9001"},
		"localhost by name":  {"GET", s.path, uiOrigin, "localhost:9001"},
		"wrong path":         {"GET", "/run 1.pftrace", uiOrigin, ""},
		"root":               {"GET", "/", uiOrigin, ""},
		"POST":               {"POST", s.path, uiOrigin, ""},
		"HEAD":               {"HEAD", s.path, uiOrigin, ""},
	} {
		code, body, _ := a.do(t, s)
		if code < 400 || strings.Contains(body, secret) {
			t.Errorf("%s: status %d, body %q", name, code, body)
		}
	}
	code, _, h := ask{"OPTIONS", s.path, uiOrigin, ""}.do(t, s)
	if code != http.StatusNoContent || h.Get("Access-Control-Allow-Private-Network") != "true" || h.Get("Access-Control-Allow-Origin") != uiOrigin {
		t.Errorf("preflight: %d %v", code, h)
	}
	code, body, h := ask{"GET", s.path, uiOrigin, ""}.do(t, s)
	if code != http.StatusOK || body != secret || h.Get("Access-Control-Allow-Origin") != uiOrigin {
		t.Errorf("the page itself: %d %q %v", code, body, h)
	}
	if err := <-result; err != nil {
		t.Errorf("after the fetch: %v", err)
	}
	if c, err := net.Dial("tcp", s.host); err == nil {
		c.Close()
		t.Error("the server still listens after the fetch")
	}
}

// A fetch that breaks off in the middle is no fetch: the page may try again.
func TestTraceServerAfterABrokenFetch(t *testing.T) {
	content := strings.Repeat("x", 64<<20)
	s, result := serveTrace(t, content)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", uiOrigin)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, _ := (ask{"GET", s.path, uiOrigin, ""}).do(t, s); code != http.StatusGone {
		t.Errorf("a second client beside the first: status %d", code)
	}
	cancel()
	resp.Body.Close()
	for s.busy() {
		time.Sleep(time.Millisecond)
	}
	code, body, _ := ask{"GET", s.path, uiOrigin, ""}.do(t, s)
	if code != http.StatusOK || len(body) != len(content) {
		t.Errorf("second try: status %d, %d bytes", code, len(body))
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestTraceServerEndsUnfetched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newTraceServer(writeFile(t, "a.pftrace", "x"), uiOrigin, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.serve(t.Context(), l, time.Millisecond); err == nil || !strings.Contains(err.Error(), "--timeout") {
		t.Errorf("error %v", err)
	}
}

func TestUIAddress(t *testing.T) {
	a := uiAddress(uiOrigin, "http://127.0.0.1:9001/KEY/run%201.pftrace")
	q, ok := strings.CutPrefix(a, uiOrigin+"/#!/?")
	if !ok {
		t.Fatal(a)
	}
	v, err := url.ParseQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	if v.Get("url") != "http://127.0.0.1:9001/KEY/run%201.pftrace" || !strings.Contains(v.Get("startupCommands"), "ExpandTracksByRegex") {
		t.Errorf("query %v", v)
	}
}

// The whole command: exports, prints the address, serves, ends, leaves nothing.
func TestOpenCommand(t *testing.T) {
	if l, err := net.Listen("tcp", openAddr); err != nil {
		t.Skipf("%s is in use here: %v", openAddr, err)
	} else {
		l.Close()
	}
	tmp := t.TempDir()
	c := exec.Command(os.Args[0], "open", "--browser=none", writeFile(t, "trace.txt", smallTrace))
	c.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+tmp, "SSH_CONNECTION=")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, q, _ := strings.Cut(strings.TrimSpace(string(line[:n])), "/#!/?")
	v, err := url.ParseQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("GET", v.Get("url"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", uiOrigin)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || len(b) < 100 {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(b), err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// "OPTIONS *" is nobody's either, unless it comes from the page.
func TestOpenOptionsStar(t *testing.T) {
	s, _ := serveTrace(t, "trace")
	for _, c := range []struct{ host, origin, want string }{
		{"evil.example", "", "403"},
		{s.host, "", "403"},
		{s.host, "https://evil.example", "403"},
		{"evil.example", uiOrigin, "403"},
		{s.host, uiOrigin, "404"},
	} {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		text := "OPTIONS * HTTP/1.1\r\nHost: " + c.host + "\r\nConnection: close\r\n"
		if c.origin != "" {
			text += "Origin: " + c.origin + "\r\n"
		}
		if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(b), "HTTP/1.1 "+c.want+" ") || strings.Contains(string(b), "Allow-Origin") != (c.want == "404") {
			t.Errorf("%+v: %s", c, b)
		}
	}
}

// What goes wrong on the way to the browser is told of the user's own file.
func TestOpenNamesTheInput(t *testing.T) {
	trace := writeFile(t, "trace.txt", smallTrace)
	fake := writeFile(t, "fake.pftrace", "not a trace")
	for _, c := range []struct {
		args, tmp, want string
	}{
		{trace, filepath.Join(t.TempDir(), "none"), "make a folder for the picture: "},
		{fake, t.TempDir(), fake + ": byte 0: no known trace format"},
	} {
		cmd := exec.Command(os.Args[0], "open", "--browser=none", "--timeout=1", c.args)
		cmd.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+c.tmp, "SSH_CONNECTION=")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "gpurec: "+c.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v: %s", c.args, err, out)
		}
	}
	// A limit on the size of files stands for a full disk.
	tmp := t.TempDir()
	sh := exec.Command("sh", "-c", `ulimit -f 0; exec "$0" "$@"`, os.Args[0], "open", "--browser=none", "--timeout=1", trace)
	sh.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+tmp, "SSH_CONNECTION=")
	out, err := sh.CombinedOutput()
	if want := "gpurec: " + trace + ": make a picture of it in " + tmp + ": file too large; "; err == nil || string(out)[:min(len(out), len(want))] != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

func TestGPUGroups(t *testing.T) {
	re := regexp.MustCompile(gpuGroups)
	for path, want := range map[string]bool{
		"GPU 0 (mockgpu)": true, "GPU 12": true, "GPU 0 (AMD Radeon(TM) Pro (W7900))": true,
		"GPU 0 (mockgpu) > ring gfx": false, "GPU 0 (a) > b (c)": false, "GPU 0 jobs in flight": false, "train > GPU 0 (a)": false,
	} {
		if re.MatchString(path) != want {
			t.Errorf("%s", path)
		}
	}
}
