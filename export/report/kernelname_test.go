package report

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpurec/gpurec/correlate"
)

func TestKernelName(t *testing.T) {
	for in, want := range map[string]string{
		"volta_sgemm_64x64_nt": "volta_sgemm_64x64_nt",
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute":                                                                                                    "sm90_xmma_gemm_bf16bf1…roupsize1x1x1_execute",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)": "vectorized_elementwise_kernel<CUDAFunctor_a…",
		"void (anonymous namespace)::softmax_warp_forward<float, float, 10>(float*, float const*, int)":                                                                                             "softmax_warp_forward<float,float,10>",
		"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<f>(int)>(int)":                                                                                                     "elementwise_kernel<f>(int)>",
		"f({lambda(int)#3})": "f",
		"(":                  "(",
		"":                   "",
		"a::b(":              "b(",
		")))":                ")))",
	} {
		if got := kernelName(in, 44); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
	for _, s := range []string{"a::(", "::<>", "<<<((", strings.Repeat("x::y<", 50), "void ", "é::é(é)é", "a\x1b[31m::b()"} {
		for most := 2; most < 50; most++ {
			if got := kernelName(s, most); utf8.RuneCountInString(got) > most || strings.Contains(got, "\x1b") {
				t.Errorf("%q in %d is %q", s, most, got)
			}
		}
	}
}

// Names that differ behind what fits, or in what is left out, stay apart.
func TestKernelNamesApart(t *testing.T) {
	long := "multi_tensor_apply_kernel_" + strings.Repeat("x", 40) + "<"
	z := strings.Repeat("z", 20) + ">"
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"gemm", "axpy", "gemm", "axpy"},
		{"n::" + long + "float," + z, "n::" + long + "double," + z, "multi_tens…xxxx<float,zzzzzzzzz…", "multi_tens…xxxx<double,zzzzzzzz…"},
		{"f<4, a::g>", "f<8, a::g>", "f<4, a::g>", "f<8, a::g>"},
	} {
		got := kernelNames([]Kernel{{Name: c.a}, {Name: c.b}, {Name: "other"}}, 32)
		if got[0] != c.wantA || got[1] != c.wantB || got[2] != "other" {
			t.Errorf("%q", got)
		}
	}
	// A long one of the same base is cut, and still within the room.
	var list []Kernel
	for _, s := range []string{"aa", "ab", "b", ""} {
		list = append(list, Kernel{Name: long + s + strings.Repeat("y", 50)})
	}
	seen := map[string]bool{}
	for _, s := range kernelNames(list, 38) {
		if seen[s] || utf8.RuneCountInString(s) > 38 {
			t.Errorf("%q", s)
		}
		seen[s] = true
	}
}

// A mangled name is read; the JSON keeps it as it came.
func TestMangledKernels(t *testing.T) {
	const gemm, add = "_ZN2at6native4gemmIfEEvPT_", "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_"
	for in, want := range map[string]string{
		gemm:                 "gemm<float>",
		add:                  "vectorized_elementwise_kernel<CUDAFunctor_add<float>>",
		"_Z6kernelPf.kd":     "kernel",
		"_Z99x":              "_Z99x",
		"_ZN2at6nativeE\x1b": "_ZN2at6nativeE\uFFFD",
	} {
		if got := kernelName(in, 60); got != want {
			t.Errorf("%s is %q, not %q", in, got, want)
		}
	}
	r := build(t, &correlate.Rows{GPUActivities: []correlate.GPUActivity{
		{ID: 1, Kind: "kernel", Name: gemm, StartNS: at(0), EndNS: at(8e6), DurNS: ns(8e6)},
		{ID: 2, Kind: "kernel", Name: add, StartNS: at(9e6), EndNS: at(13e6), DurNS: ns(4e6)},
	}})
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == "kernel_dominates" })
	if i < 0 || !strings.Contains(r.Findings[i].Text, "GPU function gemm<float> took") || r.Findings[i].Search != "gemm" {
		t.Errorf("%+v", r.Findings)
	}
	if r.Kernels[0].Name != gemm || r.Kernels[1].Name != add {
		t.Errorf("%+v", r.Kernels)
	}
}
