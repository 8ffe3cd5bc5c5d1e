package record

import "testing"

func FuzzParseStat(f *testing.F) {
	f.Add("77 (a (b) c) T 1 77 77 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 1 0\n")
	f.Add("1 () R")
	f.Fuzz(func(t *testing.T, s string) {
		if st, err := parseStat(s); err == nil && st.state == 0 {
			t.Errorf("%q has no state: %+v", s, st)
		}
	})
}

func FuzzParseIDs(f *testing.F) {
	f.Add("1000:1000:4,24,27")
	f.Add("0::")
	f.Fuzz(func(t *testing.T, s string) {
		if _, _, groups, err := parseIDs(s); err == nil && len(groups) > len(s) {
			t.Errorf("%q gives %d groups", s, len(groups))
		}
	})
}
