package gpu

import "github.com/gpurec/gpurec/record/event"

// rtLaunch is the layout of cudaLaunchKernel and hipLaunchKernel.
func rtLaunch() []Arg {
	return join(list(u64(event.FieldFunction, 0)), gridDim3(1), blockDim3(3),
		list(u64(event.FieldSharedMemBytes, 6), stream(7)))
}

// cudaRuntime are the entry points of libcudart, shared or linked in.
func cudaRuntime() []row {
	var rows []row
	for _, r := range [][]row{cudartLaunches(), cudartCopies(), cudartMemory(), cudartOrder(), cudartOther()} {
		rows = append(rows, r...)
	}
	return rows
}

func cudartLaunches() []row {
	launch := rtLaunch()
	return []row{
		{"cudaLaunchKernel", ClassLaunch, enq, ptsz, launch},
		// What nvcc 13 calls for <<<>>>: its function is a cudaKernel_t.
		{"__cudaLaunchKernel", ClassLaunch, enq, ptsz, launch},
		{"cudaLaunchKernelExC", ClassLaunch, enq, ptsz, join(list(u64(event.FieldFunction, 1)), config(0, 8))},
		{"cudaLaunchCooperativeKernel", ClassLaunch, enq, ptsz, launch},
		{"cudaLaunchCooperativeKernelMultiDevice", ClassLaunch, enq, "", nil},
		{"cudaLaunch", ClassLaunch, enq, ptsz, list(u64(event.FieldFunction, 0))},
		{"cudaLaunchHostFunc", ClassStream, enq, ptsz, list(stream(0))},
		{"cudaGraphLaunch", ClassGraphLaunch, enq, ptsz, list(stream(1))},
		{"cudaGraphUpload", ClassOther, enq, ptsz, list(stream(1))},
		{"__cudaPushCallConfiguration", ClassOther, 0, "", join(gridDim3(0), blockDim3(2),
			list(u64(event.FieldSharedMemBytes, 4), stream(5)))},
		{"__cudaPopCallConfiguration", ClassOther, 0, "", nil},
		// The host stub and the device name that it stands for.
		{"__cudaRegisterFunction", ClassGetFunction, 0, "", list(u64(event.FieldFunction, 1), text(3))},
		// The host stub is the address: the handle given back stands for it.
		{"__cudaGetKernel", ClassGetFunction, blocks, "", list(out(event.FieldFunction, 0), addr(1))},
		{"__cudaRegisterFatBinary", ClassModule, blocks, "", nil},
		{"__cudaRegisterFatBinaryEnd", ClassModule, blocks, "", nil},
		{"__cudaUnregisterFatBinary", ClassModule, blocks, "", nil},
	}
}

func cudartCopies() []row {
	copy2 := list(bytes(4), bytes(5), copyKind(6))
	copy3 := join(extent(128, 3), list(Arg{Field: event.FieldDirection, How: ByRef, Width: 4, Offset: 152, Unit: UnitCopyKind}))
	symbol := list(bytes(2), copyKind(4))
	// cudaMemset3D takes a cudaPitchedPtr (32 bytes) and a cudaExtent by value: both on the stack.
	set3 := list(bytes(10), bytes(11), bytes(12))
	return []row{
		{"cudaMemcpy", ClassMemcpy, blocks, ptds, list(bytes(2), copyKind(3))},
		{"cudaMemcpyAsync", ClassMemcpy, enq, ptsz, list(bytes(2), copyKind(3), stream(4))},
		{"cudaMemcpy2D", ClassMemcpy, blocks, ptds, copy2},
		{"cudaMemcpy2DAsync", ClassMemcpy, enq, ptsz, join(copy2, list(stream(7)))},
		{"cudaMemcpy3D", ClassMemcpy, blocks, ptds, copy3},
		{"cudaMemcpy3DAsync", ClassMemcpy, enq, ptsz, join(copy3, list(stream(1)))},
		{"cudaMemcpyPeer", ClassMemcpy, blocks | ptop, "", list(bytes(4))},
		{"cudaMemcpyPeerAsync", ClassMemcpy, enq | ptop, "", list(bytes(4), stream(5))},
		{"cudaMemcpy3DPeer", ClassMemcpy, blocks | ptop, ptds, nil},
		{"cudaMemcpy3DPeerAsync", ClassMemcpy, enq | ptop, ptsz, list(stream(1))},
		{"cudaMemcpyToSymbol", ClassMemcpy, blocks, ptds, symbol},
		{"cudaMemcpyFromSymbol", ClassMemcpy, blocks, ptds, symbol},
		{"cudaMemcpyToSymbolAsync", ClassMemcpy, enq, ptsz, join(symbol, list(stream(5)))},
		{"cudaMemcpyFromSymbolAsync", ClassMemcpy, enq, ptsz, join(symbol, list(stream(5)))},
		{"cudaMemcpyToArray", ClassMemcpy, blocks, ptds, list(bytes(4), copyKind(5))},
		{"cudaMemcpyFromArray", ClassMemcpy, blocks, ptds, list(bytes(4), copyKind(5))},
		{"cudaMemcpyBatchAsync", ClassMemcpy, enq, ptsz, nil},
		{"cudaMemcpy3DBatchAsync", ClassMemcpy, enq, ptsz, nil},
		{"cudaMemset", ClassMemset, blocks, ptds, list(bytes(2))},
		{"cudaMemsetAsync", ClassMemset, enq, ptsz, list(bytes(2), stream(3))},
		{"cudaMemset2D", ClassMemset, blocks, ptds, list(bytes(3), bytes(4))},
		{"cudaMemset2DAsync", ClassMemset, enq, ptsz, list(bytes(3), bytes(4), stream(5))},
		{"cudaMemset3D", ClassMemset, blocks, ptds, set3},
		{"cudaMemset3DAsync", ClassMemset, enq, ptsz, join(set3, list(stream(1)))},
	}
}

func cudartMemory() []row {
	address := out(event.FieldAddress, 0)
	return []row{
		{"cudaMalloc", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cudaMallocAsync", ClassAlloc, enq, ptsz, list(address, bytes(1), stream(2))},
		{"cudaMallocFromPoolAsync", ClassAlloc, enq, ptsz, list(address, bytes(1), stream(3))},
		{"cudaMallocManaged", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cudaMallocHost", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cudaHostAlloc", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cudaMallocPitch", ClassAlloc, blocks, "", list(address, bytes(2), bytes(3))},
		// The extent is on the stack, the pointer the first member of *slot 0.
		{"cudaMalloc3D", ClassAlloc, blocks, "", list(address, bytes(6), bytes(7), bytes(8))},
		{"cudaMallocArray", ClassAlloc, blocks, "", nil},
		{"cudaMalloc3DArray", ClassAlloc, blocks, "", nil},
		{"cudaFree", ClassFree, blocks, "", list(addr(0))},
		{"cudaFreeAsync", ClassFree, enq, ptsz, list(addr(0), stream(1))},
		{"cudaFreeHost", ClassFree, blocks, "", list(addr(0))},
		{"cudaFreeArray", ClassFree, blocks, "", nil},
		{"cudaHostRegister", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"cudaHostUnregister", ClassMap, blocks, "", list(addr(0))},
		// CUDA 13 gave the bare name the arguments of _v2: its stream's slot depends on the library.
		{"cudaMemPrefetchAsync", ClassMap, enq, "- _ptsz _v2 _v2_ptsz", list(addr(0), bytes(1))},
		{"cudaMemAdvise", ClassMap, blocks, "- _v2", list(addr(0), bytes(1))},
	}
}

func cudartOrder() []row {
	s0, s1 := list(stream(0)), list(stream(1))
	return []row{
		{"cudaStreamSynchronize", ClassSync, blocks, ptsz, s0},
		{"cudaDeviceSynchronize", ClassSync, blocks, "", nil},
		{"cudaThreadSynchronize", ClassSync, blocks, "", nil},
		{"cudaEventSynchronize", ClassSync, blocks, "", nil},
		{"cudaStreamQuery", ClassStream, 0, ptsz, s0},
		{"cudaEventQuery", ClassEvent, 0, "", nil},
		{"cudaEventRecord", ClassEvent, enq, ptsz, s1},
		{"cudaEventRecordWithFlags", ClassEvent, enq, ptsz, s1},
		{"cudaStreamWaitEvent", ClassStream, enq, ptsz, s0},
		{"cudaStreamAddCallback", ClassStream, enq, ptsz, s0},
		{"cudaStreamCreate", ClassStream, blocks, "", nil},
		{"cudaStreamCreateWithFlags", ClassStream, blocks, "", nil},
		{"cudaStreamCreateWithPriority", ClassStream, blocks, "", nil},
		{"cudaStreamDestroy", ClassStream, blocks, "", s0},
		{"cudaStreamGetPriority", ClassStream, 0, ptsz, s0},
		{"cudaStreamGetFlags", ClassStream, 0, ptsz, s0},
		{"cudaStreamIsCapturing", ClassStream, 0, ptsz, s0},
		{"cudaStreamBeginCapture", ClassStream, 0, ptsz, s0},
		{"cudaStreamEndCapture", ClassStream, 0, ptsz, s0},
		{"cudaStreamGetCaptureInfo", ClassStream, 0, "- _ptsz _v2 _v2_ptsz _v3 _v3_ptsz", s0},
		{"cudaEventCreate", ClassEvent, blocks, "", nil},
		{"cudaEventCreateWithFlags", ClassEvent, blocks, "", nil},
		{"cudaEventDestroy", ClassEvent, blocks, "", nil},
		{"cudaEventElapsedTime", ClassEvent, 0, "- _v2", nil},
	}
}

func cudartOther() []row {
	var rows []row
	add := func(c Class, f flag, names ...string) {
		for _, n := range names {
			rows = append(rows, row{n, c, f, "", nil})
		}
	}
	add(ClassContext, blocks, "cudaSetDevice", "cudaDeviceReset", "cudaInitDevice", "cudaDeviceEnablePeerAccess", "cudaDeviceDisablePeerAccess")
	add(ClassContext, 0, "cudaGetDevice", "cudaGetDeviceCount", "cudaDeviceGetAttribute", "cudaDeviceCanAccessPeer", "cudaDeviceSetLimit",
		"cudaDeviceGetStreamPriorityRange", "cudaSetDeviceFlags", "cudaChooseDevice", "cudaDriverGetVersion", "cudaRuntimeGetVersion")
	add(ClassOther, blocks, "cudaMemGetInfo", "cudaFuncGetAttributes", "cudaFuncSetAttribute", "cudaFuncSetCacheConfig",
		"cudaGraphInstantiate", "cudaGraphInstantiateWithFlags", "cudaGraphInstantiateWithParams", "cudaGraphExecUpdate", "cudaGraphExecDestroy")
	add(ClassOther, 0, "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorString", "cudaGetErrorName", "cudaPointerGetAttributes",
		"cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
		"cudaGraphCreate", "cudaGraphDestroy", "cudaGraphAddKernelNode", "cudaGraphAddMemcpyNode", "cudaGraphAddMemsetNode",
		"cudaThreadExchangeStreamCaptureMode", "cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion", "cudaGetSymbolAddress",
		"cudaIpcGetMemHandle", "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle", "cudaMemPoolCreate", "cudaMemPoolDestroy", "cudaMemPoolTrimTo",
		"cudaProfilerStart", "cudaProfilerStop", "cudaGetFuncBySymbol")
	return append(rows, row{"cudaGetDeviceProperties", ClassContext, 0, "- _v2", nil})
}
