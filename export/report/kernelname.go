package report

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gpurec/gpurec/record/symbol"
)

// Parts of a C++ function name that tell nothing to who knows the function.
var (
	namespaces = pattern(`(?:\b[A-Za-z_]\w*|\(anonymous namespace\)|<unnamed>)::`)
	lambdas    = pattern(`\{lambda\([^{}]*\)#(\d+)\}`)
	casts      = pattern(`\((?:int|uint|long|ulong|bool)\)(\d)`)
	wrappers   = pattern(`<(?:\d+,)+(?:(?:void )?gpu_kernel_impl\w*<)?`) // sizes, and what each function of PyTorch lies in
	spaces     = strings.NewReplacer("unsigned int", "uint", "unsigned long", "ulong", "signed char", "schar", ", ", ",", " >", ">")
)

// pattern compiles an expression when it is first used: most runs use none.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// kernelName shortens the name of a GPU function for a table: without what it
// returns, its parameters and namespaces, the template's arguments kept as far
// as they fit, demangled. The JSON has the whole name as the source gives it.
func kernelName(s string, most int) string {
	s = clean(symbol.Demangle(s))
	if !strings.Contains(s, "::") && !strings.Contains(s, "(") {
		return clipTo(s, most)
	}
	s = strings.TrimPrefix(s, "void ")
	s = strings.TrimPrefix(withoutParameters(lambdas().ReplaceAllString(s, "λ$1")), "void ")
	s = casts().ReplaceAllString(spaces.Replace(namespaces().ReplaceAllString(s, "")), "$1")
	s = wrappers().ReplaceAllString(s, "<")
	if name, _, _ := strings.Cut(s, "<"); len([]rune(name)) > most-8 {
		return clipTo(s, most)
	}
	return clipEnd(s, most) // the first arguments tell more than the last
}

// kernelNames shortens the names of GPU functions and keeps those apart that
// differ.
func kernelNames(list []Kernel, most int) []string {
	out := make([]string, len(list))
	same := map[string][]int{}
	for i := range list {
		out[i] = kernelName(list[i].Name, most)
		k := list[i].MeasuredBy + " " + out[i]
		same[k] = append(same[k], i)
	}
	for _, group := range same {
		if len(group) < 2 {
			continue
		}
		forms, seen := make([][]rune, len(group)), map[string]bool{}
		for n, i := range group {
			s := kernelName(list[i].Name, len(list[i].Name)+1)
			forms[n], seen[s] = []rune(s), true
		}
		if len(seen) < len(group) { // they differ in what was left out
			for n, i := range group {
				forms[n] = []rune(clean(symbol.Demangle(list[i].Name)))
			}
		}
		p := commonPrefix(forms)
		for n, i := range group {
			out[i] = fromDifference(forms[n], p, most)
		}
	}
	return out
}

// commonPrefix is how many runes all begin with.
func commonPrefix(list [][]rune) int {
	n := len(list[0])
	for _, r := range list[1:] {
		n = min(n, len(r))
		for i := range n {
			if r[i] != list[0][i] {
				n = i
				break
			}
		}
	}
	return n
}

// fromDifference keeps the begin of a name and what stands around the place at
// which it differs from others.
func fromDifference(r []rune, at, most int) string {
	head := most / 3
	if start := at - most/6; len(r) > most && start > head+1 {
		r = slices.Concat(r[:head], []rune{'…'}, r[start:])
	}
	return clipEnd(string(r), most)
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
