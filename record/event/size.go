package event

import "fmt"

// SizeText prints a number of bytes for people, in powers of 1024, as flags
// take them: "512 B", "1.5 MiB", "474 MiB". It is the one notation of all
// text; JSON and tables have the number itself.
func SizeText[N ~int | ~int64 | ~uint64 | ~float64](n N) string {
	f := float64(n)
	if f < 1024 {
		if s := fmt.Sprintf("%.0f", f); s != "1024" {
			return s + " B"
		}
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for i, u := range units {
		f /= 1024
		switch {
		case f < 99.95:
			return fmt.Sprintf("%.1f %s", f, u)
		case f < 1023.5 || i == len(units)-1:
			return fmt.Sprintf("%.0f %s", f, u)
		}
	}
	return ""
}
