package report

import (
	"regexp"
	"strings"
)

// Parts of a C++ function name that tell nothing to who knows the function.
var (
	namespaces = regexp.MustCompile(`(?:\b[A-Za-z_]\w*|\(anonymous namespace\)|<unnamed>)::`)
	lambdas    = regexp.MustCompile(`\{lambda\([^{}]*\)#(\d+)\}`)
	casts      = regexp.MustCompile(`\((?:int|uint|long|ulong|bool)\)(\d)`)
	wrappers   = regexp.MustCompile(`<(?:\d+,)+(?:(?:void )?gpu_kernel_impl\w*<)?`) // sizes, and what each function of PyTorch lies in
	spaces     = strings.NewReplacer("unsigned int", "uint", "unsigned long", "ulong", "signed char", "schar", ", ", ",", " >", ">")
)

// kernelName shortens the name of a GPU function for a table: without what it
// returns, its parameters and namespaces, the template's arguments kept as far
// as they fit. The JSON has the whole name.
func kernelName(s string, most int) string {
	s = clean(s)
	if !strings.Contains(s, "::") && !strings.Contains(s, "(") {
		return clipTo(s, most)
	}
	s = strings.TrimPrefix(s, "void ")
	s = strings.TrimPrefix(withoutParameters(lambdas.ReplaceAllString(s, "λ$1")), "void ")
	s = casts.ReplaceAllString(spaces.Replace(namespaces.ReplaceAllString(s, "")), "$1")
	s = wrappers.ReplaceAllString(s, "<")
	if name, _, _ := strings.Cut(s, "<"); len([]rune(name)) > most-8 {
		return clipTo(s, most)
	}
	return clipEnd(s, most) // the first arguments tell more than the last
}

// withoutParameters cuts the last list in parentheses off, if it ends the name.
func withoutParameters(s string) string {
	if !strings.HasSuffix(s, ")") {
		return s
	}
	depth := 0
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}
