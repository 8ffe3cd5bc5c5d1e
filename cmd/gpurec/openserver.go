package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// traceServer serves one file, once, to scripts of one origin. Whoever does
// not know the random path, or comes from elsewhere, gets nothing: the port is
// open to every user and every web page of this machine.
type traceServer struct {
	file, origin, host, path string
	fetched                  chan struct{} // closed when the file was sent whole

	mu      sync.Mutex
	sending bool
	done    bool
}

func newTraceServer(file, origin, host string) (*traceServer, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no plain file", file)
	}
	return &traceServer{
		file: file, origin: origin, host: host,
		path:    "/" + rand.Text() + "/" + filepath.Base(file),
		fetched: make(chan struct{}),
	}, nil
}

// url is the address of the trace.
func (s *traceServer) url() string {
	u := url.URL{Scheme: "http", Host: s.host, Path: s.path}
	return u.String()
}

func (s *traceServer) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sending
}

// take reports whether this request may have the file: one at a time, and none
// after one got it whole.
func (s *traceServer) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending || s.done {
		return false
	}
	s.sending = true
	return true
}

func (s *traceServer) release(whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
	if whole && !s.done {
		s.done = true
		close(s.fetched)
	}
}

func (s *traceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A page of another origin cannot set these: DNS rebinding shows in Host.
	if r.Host != s.host || r.Header.Get("Origin") != s.origin {
		http.Error(w, "not for you", http.StatusForbidden)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", s.origin)
	h.Set("Vary", "Origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path != s.path {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Private-Network", "true")
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		s.send(w, r)
	default:
		h.Set("Allow", "GET, OPTIONS")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	}
}

func (s *traceServer) send(w http.ResponseWriter, r *http.Request) {
	if !s.take() {
		http.Error(w, "the trace is fetched once only", http.StatusGone)
		return
	}
	c := &countingWriter{ResponseWriter: w}
	size := int64(-1)
	defer func() { s.release(size >= 0 && c.n == size) }()
	f, err := os.Open(s.file)
	if err != nil {
		http.Error(w, "the trace is gone", http.StatusNotFound)
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		http.Error(w, "the trace cannot be read", http.StatusInternalServerError)
		return
	}
	size = st.Size()
	w.Header().Set("Content-Type", "application/octet-stream")
	r.Header.Del("Range") // whole or not at all
	http.ServeContent(c, r, "", time.Time{}, f)
}

type countingWriter struct {
	http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// serve answers until the trace was fetched whole, nobody came in time, or ctx
// is done.
func (s *traceServer) serve(ctx context.Context, l net.Listener, timeout time.Duration) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		// The library's own answer to "OPTIONS *" asks for neither Host nor Origin.
		DisableGeneralOptionsHandler: true,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	ended := make(chan error, 1)
	go func() { ended <- s.waitFetched(ctx, timeout) }()
	var err error
	select {
	case err = <-failed:
	case err = <-ended:
	}
	stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if serr := srv.Shutdown(stop); err == nil && !errors.Is(serr, context.DeadlineExceeded) {
		err = serr
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
