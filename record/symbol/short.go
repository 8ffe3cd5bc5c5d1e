package symbol

import "strings"

// Short returns the name of a function, demangled, without "void ", template
// arguments, parameters and namespaces: what people call it. A name that leaves
// nothing is returned whole.
func Short(s string) string {
	rest := Demangle(s)
	if Mangled(rest) {
		return s // damaged
	}
	rest = strings.TrimPrefix(rest, "void ")
	var out []byte
	depth := 0
scan:
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0 && (i == 0 || rest[i-1] != '-'):
			depth--
		case depth > 0:
		case strings.HasPrefix(rest[i:], "(anonymous namespace)"):
			i += len("(anonymous namespace)") - 1
		case c == '(':
			break scan
		case c == ':' && strings.HasPrefix(rest[i:], "::"):
			out = out[:0]
			i++
		default:
			out = append(out, c)
		}
	}
	if short := strings.TrimSpace(string(out)); short != "" {
		return short
	}
	return s
}
