package picture

import "testing"

func TestShortKernel(t *testing.T) {
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
		"":                               "",
	} {
		if got := shortKernel(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct{ length, want int64 }{{0, ms}, {199 * ms, ms}, {200 * ms, 2 * ms}, {860 * ms, 5 * ms}, {1000 * ms, 10 * ms}, {3600_000 * ms, 20_000 * ms}} {
		if got := windowOf(5, 5+c.length); got != c.want {
			t.Errorf("%d ms: window %d", c.length/ms, got)
		}
	}
}
