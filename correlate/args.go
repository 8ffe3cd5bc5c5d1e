package correlate

import "strings"

// mergeArgs adds the members of one JSON object of fields to another. A member
// that stands in both alike is there once; one that differs comes again.
func mergeArgs(a, b string) string {
	if a == "" {
		return b
	}
	have := members(a)
	out := strings.TrimSuffix(a, "}")
	for _, m := range members(b) {
		known := false
		for _, h := range have {
			known = known || h == m
		}
		if known {
			continue
		}
		if len(out) > 1 {
			out += ","
		}
		out += m
	}
	return out + "}"
}

// members splits an object into its members, as they are written.
func members(s string) []string {
	var l []string
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			l = append(l, s[from:i])
			from = i + 1
		}
	}
	if from < len(s) {
		l = append(l, s[from:])
	}
	return l
}
