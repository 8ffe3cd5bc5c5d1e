package gpu

import "github.com/gpurec/gpurec/record/event"

// spt marks a stream per thread, as ptds and ptsz do in CUDA.
const spt = "- _spt"

// hip are the entry points of libamdhip64. Their exports are versioned
// ("hipLaunchKernel@@hip_4.2").
func hip() []row {
	var rows []row
	for _, r := range [][]row{hipLaunches(), hipCopies(), hipMemory(), hipOrder(), hipOther()} {
		rows = append(rows, r...)
	}
	return rows
}

func hipLaunches() []row {
	launch, name := rtLaunch(), list(out(event.FieldFunction, 0), text(2))
	ext := join(list(u64(event.FieldFunction, 0)), grid3(1), block3(4), list(u64(event.FieldSharedMemBytes, 7), stream(8)))
	for i := range 3 {
		ext[1+i].Unit = UnitThreads
	}
	return []row{
		{"hipLaunchKernel", ClassLaunch, enq, spt, launch},
		{"hipExtLaunchKernel", ClassLaunch, enq, "", launch},
		{"hipLaunchCooperativeKernel", ClassLaunch, enq, spt, launch},
		{"hipLaunchKernelExC", ClassLaunch, enq, "", join(list(u64(event.FieldFunction, 1)), config(0, 8))},
		{"hipDrvLaunchKernelEx", ClassLaunch, enq, "", join(list(u64(event.FieldFunction, 1)), config(0, 4))},
		{"hipLaunchByPtr", ClassLaunch, enq, "", list(u64(event.FieldFunction, 0))},
		{"hipModuleLaunchKernel", ClassLaunch, enq, "", cuLaunch()},
		{"hipModuleLaunchCooperativeKernel", ClassLaunch, enq, "", cuLaunch()},
		// The grid is the global work size: threads, not blocks.
		{"hipExtModuleLaunchKernel", ClassLaunch, enq, "", ext},
		{"hipHccModuleLaunchKernel", ClassLaunch, enq, "", ext},
		{"hipExtLaunchMultiKernelMultiDevice", ClassLaunch, enq, "", nil},
		{"hipLaunchCooperativeKernelMultiDevice", ClassLaunch, enq, "", nil},
		{"hipLaunchHostFunc", ClassStream, enq, spt, list(stream(0))},
		{"hipGraphLaunch", ClassGraphLaunch, enq, spt, list(stream(1))},
		{"hipGraphUpload", ClassOther, enq, "", list(stream(1))},
		{"__hipPushCallConfiguration", ClassOther, 0, "", join(gridDim3(0), blockDim3(2),
			list(u64(event.FieldSharedMemBytes, 4), stream(5)))},
		{"__hipPopCallConfiguration", ClassOther, 0, "", nil},
		{"__hipRegisterFunction", ClassGetFunction, 0, "", list(u64(event.FieldFunction, 1), text(3))},
		{"__hipRegisterFatBinary", ClassModule, blocks, "", nil},
		{"__hipUnregisterFatBinary", ClassModule, blocks, "", nil},
		{"hipModuleGetFunction", ClassGetFunction, blocks, "", name},
		{"hipModuleLoad", ClassModule, blocks, "", nil},
		{"hipModuleLoadData", ClassModule, blocks, "", nil},
		{"hipModuleLoadDataEx", ClassModule, blocks, "", nil},
		{"hipModuleUnload", ClassModule, blocks, "", nil},
	}
}

func hipCopies() []row {
	plain, kind := list(bytes(2)), list(bytes(2), copyKind(3))
	onStream := list(bytes(2), stream(3))
	copy2 := list(bytes(4), bytes(5), copyKind(6))
	copy3 := join(extent(128, 3), list(Arg{Field: event.FieldDirection, How: ByRef, Width: 4, Offset: 152, Unit: UnitCopyKind}))
	symbol := list(bytes(2), copyKind(4))
	rows := []row{
		{"hipMemcpy", ClassMemcpy, blocks, spt, kind},
		{"hipMemcpyAsync", ClassMemcpy, enq, spt, join(kind, list(stream(4)))},
		{"hipMemcpyWithStream", ClassMemcpy, blocks, "", join(kind, list(stream(4)))},
		{"hipMemcpyHtoD", ClassMemcpy, blocks | htod, "", plain},
		{"hipMemcpyDtoH", ClassMemcpy, blocks | dtoh, "", plain},
		{"hipMemcpyDtoD", ClassMemcpy, blocks | dtod, "", plain},
		{"hipMemcpyHtoDAsync", ClassMemcpy, enq | htod, "", onStream},
		{"hipMemcpyDtoHAsync", ClassMemcpy, enq | dtoh, "", onStream},
		{"hipMemcpyDtoDAsync", ClassMemcpy, enq | dtod, "", onStream},
		{"hipMemcpy2D", ClassMemcpy, blocks, spt, copy2},
		{"hipMemcpy2DAsync", ClassMemcpy, enq, spt, join(copy2, list(stream(7)))},
		// hipMemoryType's values changed with ROCm 6: no direction from the struct.
		{"hipMemcpyParam2D", ClassMemcpy, blocks, "", extent(112, 2)},
		{"hipMemcpyParam2DAsync", ClassMemcpy, enq, "", join(extent(112, 2), list(stream(1)))},
		{"hipMemcpy3D", ClassMemcpy, blocks, spt, copy3},
		{"hipMemcpy3DAsync", ClassMemcpy, enq, spt, join(copy3, list(stream(1)))},
		{"hipDrvMemcpy3D", ClassMemcpy, blocks, "", nil},
		{"hipDrvMemcpy3DAsync", ClassMemcpy, enq, "", list(stream(1))},
		{"hipMemcpyPeer", ClassMemcpy, blocks | ptop, "", list(bytes(4))},
		{"hipMemcpyPeerAsync", ClassMemcpy, enq | ptop, "", list(bytes(4), stream(5))},
		{"hipMemcpyToSymbol", ClassMemcpy, blocks, spt, symbol},
		{"hipMemcpyFromSymbol", ClassMemcpy, blocks, spt, symbol},
		{"hipMemcpyToSymbolAsync", ClassMemcpy, enq, spt, join(symbol, list(stream(5)))},
		{"hipMemcpyFromSymbolAsync", ClassMemcpy, enq, spt, join(symbol, list(stream(5)))},
		{"hipMemset", ClassMemset, blocks, spt, plain},
		{"hipMemsetAsync", ClassMemset, enq, spt, onStream},
		{"hipMemset2D", ClassMemset, blocks, spt, list(bytes(3), bytes(4))},
		{"hipMemset2DAsync", ClassMemset, enq, spt, list(bytes(3), bytes(4), stream(5))},
		{"hipMemset3D", ClassMemset, blocks, spt, list(bytes(10), bytes(11), bytes(12))},
		{"hipMemset3DAsync", ClassMemset, enq, spt, list(bytes(10), bytes(11), bytes(12), stream(1))},
	}
	for _, t := range []struct {
		bits string
		size uint16
	}{{"8", 1}, {"16", 2}, {"32", 4}} {
		rows = append(rows,
			row{"hipMemsetD" + t.bits, ClassMemset, blocks, "", list(elems(2, t.size))},
			row{"hipMemsetD" + t.bits + "Async", ClassMemset, enq, "", list(elems(2, t.size), stream(3))})
	}
	return rows
}

func hipMemory() []row {
	alloc := list(out(event.FieldAddress, 0), bytes(1))
	return []row{
		{"hipMalloc", ClassAlloc, blocks, "", alloc},
		{"hipExtMallocWithFlags", ClassAlloc, blocks, "", alloc},
		{"hipMallocAsync", ClassAlloc, enq, "", join(alloc, list(stream(2)))},
		{"hipMallocFromPoolAsync", ClassAlloc, enq, "", join(alloc, list(stream(3)))},
		{"hipMallocManaged", ClassAlloc, blocks, "", alloc},
		{"hipMallocHost", ClassAlloc, blocks, "", alloc},
		{"hipHostMalloc", ClassAlloc, blocks, "", alloc},
		{"hipHostAlloc", ClassAlloc, blocks, "", alloc},
		{"hipMemAllocHost", ClassAlloc, blocks, "", alloc},
		{"hipMallocPitch", ClassAlloc, blocks, "", list(out(event.FieldAddress, 0), bytes(2), bytes(3))},
		{"hipMemCreate", ClassAlloc, blocks, "", list(bytes(1))},
		{"hipMallocArray", ClassAlloc, blocks, "", nil},
		{"hipFree", ClassFree, blocks, "", list(addr(0))},
		{"hipFreeAsync", ClassFree, enq, "", list(addr(0), stream(1))},
		{"hipHostFree", ClassFree, blocks, "", list(addr(0))},
		{"hipFreeHost", ClassFree, blocks, "", list(addr(0))},
		{"hipFreeArray", ClassFree, blocks, "", nil},
		{"hipMemRelease", ClassFree, blocks, "", nil},
		{"hipHostRegister", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"hipHostUnregister", ClassMap, blocks, "", list(addr(0))},
		{"hipMemAddressReserve", ClassMap, blocks, "", alloc},
		{"hipMemAddressFree", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"hipMemMap", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"hipMemUnmap", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"hipMemSetAccess", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"hipMemPrefetchAsync", ClassMap, enq, "", list(addr(0), bytes(1), stream(3))},
		{"hipMemAdvise", ClassMap, blocks, "", list(addr(0), bytes(1))},
	}
}

func hipOrder() []row {
	s0, s1 := list(stream(0)), list(stream(1))
	return []row{
		{"hipStreamSynchronize", ClassSync, blocks, spt, s0},
		{"hipDeviceSynchronize", ClassSync, blocks, "", nil},
		{"hipEventSynchronize", ClassSync, blocks, "", nil},
		{"hipCtxSynchronize", ClassSync, blocks, "", nil},
		{"hipStreamQuery", ClassStream, 0, spt, s0},
		{"hipEventQuery", ClassEvent, 0, "", nil},
		{"hipEventRecord", ClassEvent, enq, spt, s1},
		{"hipEventRecordWithFlags", ClassEvent, enq, "", s1},
		{"hipStreamWaitEvent", ClassStream, enq, spt, s0},
		{"hipStreamWaitValue32", ClassStream, enq, "", s0},
		{"hipStreamWaitValue64", ClassStream, enq, "", s0},
		{"hipStreamWriteValue32", ClassStream, enq, "", s0},
		{"hipStreamWriteValue64", ClassStream, enq, "", s0},
		{"hipStreamAddCallback", ClassStream, enq, spt, s0},
		{"hipStreamCreate", ClassStream, blocks, "", nil},
		{"hipStreamCreateWithFlags", ClassStream, blocks, "", nil},
		{"hipStreamCreateWithPriority", ClassStream, blocks, "", nil},
		{"hipStreamDestroy", ClassStream, blocks, "", s0},
		{"hipStreamIsCapturing", ClassStream, 0, spt, s0},
		{"hipStreamBeginCapture", ClassStream, 0, spt, s0},
		{"hipStreamEndCapture", ClassStream, 0, spt, s0},
		{"hipStreamGetCaptureInfo", ClassStream, 0, "- _spt _v2 _v2_spt", s0},
		{"hipEventCreate", ClassEvent, blocks, "", nil},
		{"hipEventCreateWithFlags", ClassEvent, blocks, "", nil},
		{"hipEventDestroy", ClassEvent, blocks, "", nil},
		{"hipEventElapsedTime", ClassEvent, 0, "", nil},
	}
}

func hipOther() []row {
	var rows []row
	add := func(c Class, f flag, names ...string) {
		for _, n := range names {
			rows = append(rows, row{n, c, f, "", nil})
		}
	}
	add(ClassContext, blocks, "hipInit", "hipSetDevice", "hipDeviceReset", "hipDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRelease", "hipCtxCreate", "hipCtxDestroy")
	add(ClassContext, 0, "hipGetDevice", "hipGetDeviceCount", "hipDeviceGet", "hipDeviceGetAttribute", "hipCtxSetCurrent", "hipCtxGetCurrent",
		"hipGetDeviceProperties", "hipGetDevicePropertiesR0600", "hipDeviceCanAccessPeer", "hipDriverGetVersion", "hipRuntimeGetVersion")
	add(ClassOther, blocks, "hipMemGetInfo", "hipFuncGetAttributes", "hipFuncSetAttribute", "hipGraphInstantiate", "hipGraphInstantiateWithFlags", "hipGraphExecDestroy")
	add(ClassOther, 0, "hipGetLastError", "hipPeekAtLastError", "hipGetErrorString", "hipGetErrorName", "hipPointerGetAttributes",
		"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "hipOccupancyMaxActiveBlocksPerMultiprocessor", "hipGetProcAddress",
		"hipKernelNameRef", "hipKernelNameRefByPtr", "hipGraphCreate", "hipGraphDestroy", "hipIpcGetMemHandle", "hipIpcOpenMemHandle", "hipIpcCloseMemHandle")
	return rows
}
