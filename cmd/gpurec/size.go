package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseBytes reads a size: "4096", "64K", "256M", "2G", "2GiB" (powers of 1024).
func parseBytes(s string) (int64, error) {
	t := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "IB"), "B")
	shift := 0
	for i, u := range []string{"K", "M", "G", "T"} {
		if r, ok := strings.CutSuffix(t, u); ok {
			t, shift = r, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return n << shift, nil
}

// parseDuration reads a time: "30s", "1m30s", and seconds without a unit, as sleep takes them.
func parseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && f >= 0 && f <= 1e9 {
		return time.Duration(f * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}
