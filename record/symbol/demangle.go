// Package symbol makes names of functions readable.
package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	// longest is the length of a name beyond which it is left as it is.
	longest = 1 << 16
	// longestShift bounds what is made of a name: a few bytes can stand for
	// gigabytes by naming each other. 2 to the power of it, bytes.
	longestShift = 16
)

// Mangled reports whether a name may be one that a C++ compiler mangled
// (Itanium C++ ABI, 5.1.2), which all GPU compilers on Linux do.
func Mangled(name string) bool { return strings.HasPrefix(name, "_Z") }

// Demangle returns the C++ declaration that a mangled name stands for:
// "void at::native::gemm<float>(float*)". Any other name, and a mangled one that
// is damaged, is returned as it is.
//
// Two names that wrap a kernel's are taken for the kernel's own: that of AMD's
// kernel descriptor ("_Z1kPf.kd", LLVM's AMDGPU user guide) and that of the
// host's stub for a launch ("_Z17__device_stub__kPf", CUDA and HIP).
func Demangle(name string) string {
	if !Mangled(name) || len(name) > longest {
		return name
	}
	plain, err := demangle.ToString(strings.TrimSuffix(name, ".kd"), demangle.MaxLength(longestShift))
	if err != nil {
		return name
	}
	return strings.Replace(plain, "__device_stub__", "", 1)
}
