package symbol

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// What each name stands for, as c++filt of binutils tells it.
var names = map[string]string{
	"_Z6kernelPf":                   "kernel(float*)",
	"_ZN2at6native4gemmIfEEvPT_":    "void at::native::gemm<float>(float*)",
	"_ZN12_GLOBAL__N_14axpyEfPKfPf": "(anonymous namespace)::axpy(float, float const*, float*)",
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, at::native::CUDAFunctor_add<float>)",
	"_ZZN3foo3barEvENKUlfE_clEf": "foo::bar()::{lambda(float)#1}::operator()(float) const",
}

func TestDemangle(t *testing.T) {
	for in, want := range names {
		if got := Demangle(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"_Z6kernelPf.kd":              "kernel(float*)",
		"_Z21__device_stub__kernelPf": "kernel(float*)",
		"":                            "",
		"gemm":                        "gemm",
		"_Z":                          "_Z",
		"_Z99x":                       "_Z99x",
		"Cijk_Ailk_Bljk_SB_MT64":      "Cijk_Ailk_Bljk_SB_MT64",
		"void f<int>(int*)":           "void f<int>(int*)",
	} {
		if got := Demangle(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// Another demangler reads them the same.
func TestNamesAreCxxfilts(t *testing.T) {
	filt, err := exec.LookPath("c++filt")
	if err != nil {
		t.Skip("c++filt is not installed")
	}
	for in, want := range names {
		out, err := exec.Command(filt, in).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bytes.TrimSpace(out)); got != want {
			t.Errorf("%s: c++filt says %q, the table %q", in, got, want)
		}
	}
}

// A few bytes that stand for gigabytes, and what is far too long, end soon.
func TestHostileNames(t *testing.T) {
	bomb := "_Z1fI" + strings.Repeat("St4pairI", 1)
	for i := range 30 { // each doubles the one before
		bomb += "S" + strings.ToUpper(string(rune('a'+i%26))) + "_"
	}
	deep := "_Z1f" + strings.Repeat("P", longest) + "i"
	double := "_Z1fSt4pairIiiE"
	for i := range 40 {
		double += "St4pairIS" + seq(i) + "S" + seq(i) + "E"
	}
	for _, in := range []string{bomb, deep, double, deep[:longest], "_Z1fI" + strings.Repeat("N", 60000)} {
		if got := Demangle(in); len(got) > 1<<longestShift+len(in) {
			t.Errorf("%.40s…: %d bytes", in, len(got))
		}
	}
}

// seq is the number of a substitution: "_" is the first, "0_" the second.
func seq(i int) string {
	if i == 0 {
		return "_"
	}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if i--; i < 36 {
		return digits[i:i+1] + "_"
	}
	return digits[i/36:i/36+1] + digits[i%36:i%36+1] + "_"
}

func FuzzDemangle(f *testing.F) {
	for in := range names {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if out := Demangle(in); len(out) > max(len(in), 1<<longestShift) {
			t.Errorf("%d bytes of %d", len(out), len(in))
		}
	})
}
