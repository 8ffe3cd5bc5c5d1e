package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// interruption is why a context ended: a signal.
type interruption struct{ sig syscall.Signal }

func (i *interruption) Error() string { return "interrupted by " + signalName(i.sig) }

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// untilSignal returns a context that the first of the signals that ask to end
// cancels. A second one ends the process at once, as it does by default. What
// nohup or a shell's & ignores stays ignored.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	go func() {
		s := <-got
		signal.Stop(got)
		if n, ok := s.(syscall.Signal); ok {
			cancel(&interruption{n})
		}
	}()
	return ctx
}

// interrupted returns the error that ends the program as a shell expects of a
// signal, once there was one.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	err := context.Cause(ctx)
	var i *interruption
	if errors.As(err, &i) {
		return &exitError{128 + int(i.sig), err}
	}
	return err
}

// awaited returns what f returns, or earlier the error of a signal: a pipe may
// give nothing for ever. f then still runs; whatever it uses is lost.
func awaited[T any](ctx context.Context, f func() T) (v T, err error) {
	if err := interrupted(ctx); err != nil {
		return v, err
	}
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case v = <-done:
		return v, nil
	case <-ctx.Done():
		return v, interrupted(ctx)
	}
}
