package symbol

import "testing"

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		"void ns::gemm<float, 4>(int*)": "gemm",
		"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, 2, true>(at::cuda::detail::TensorInfo<float, int>, int)": "indexSelectLargeIndex",
		"void at::native::vectorized_elementwise_kernel<4, at::native::f(int)::{lambda(float)#1}, at::detail::Array<char*, 3>>(int, int)":            "vectorized_elementwise_kernel",
		"_ZN2at6native4gemmIfEEvPT_":     "gemm",
		"_Z6kernelPf":                    "kernel",
		"plain":                          "plain",
		"f(int) [clone .kd]":             "f",
		"Memcpy DtoH (Device -> Pinned)": "Memcpy DtoH",
		"void k<&g->h>(int)":             "k",
		"()":                             "()",
		"_Z99x":                          "_Z99x",
		"_Z6kernelPf.kd":                 "kernel",
		"_ZN12_GLOBAL__N_14axpyEfPKfPf":  "axpy",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_": "vectorized_elementwise_kernel",
		"": "",
	} {
		if got := Short(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
