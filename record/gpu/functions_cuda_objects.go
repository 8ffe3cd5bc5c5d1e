package gpu

import "github.com/gpurec/gpurec/record/event"

func cudaSyncs() []row {
	s0, s1 := list(stream(0)), list(stream(1))
	const values = "_v2 _v2_ptsz - _ptsz"
	return []row{
		{"cuStreamSynchronize", ClassSync, blocks, ptsz, s0},
		{"cuCtxSynchronize", ClassSync, blocks, "- _v2", nil},
		{"cuEventSynchronize", ClassSync, blocks, "", nil},
		{"cuStreamQuery", ClassStream, 0, ptsz, s0}, // CUDA_ERROR_NOT_READY (600) is no error
		{"cuEventQuery", ClassEvent, 0, "", nil},    // the same
		{"cuStreamWaitEvent", ClassStream, enq, ptsz, s0},
		{"cuEventRecord", ClassEvent, enq, ptsz, s1},
		{"cuEventRecordWithFlags", ClassEvent, enq, ptsz, s1},
		{"cuStreamWaitValue32", ClassStream, enq, values, s0},
		{"cuStreamWaitValue64", ClassStream, enq, values, s0},
		{"cuStreamWriteValue32", ClassStream, enq, values, s0},
		{"cuStreamWriteValue64", ClassStream, enq, values, s0},
		{"cuStreamBatchMemOp", ClassStream, enq, values, s0},
		{"cuStreamAddCallback", ClassStream, enq, ptsz, s0},
		{"cuSignalExternalSemaphoresAsync", ClassStream, enq, ptsz, list(stream(3))},
		{"cuWaitExternalSemaphoresAsync", ClassStream, enq, ptsz, list(stream(3))},
	}
}

func cudaObjects() []row {
	return []row{
		{"cuStreamCreate", ClassStream, blocks, "", nil},
		{"cuStreamCreateWithPriority", ClassStream, blocks, "", nil},
		{"cuStreamDestroy", ClassStream, blocks, "_v2 -", list(stream(0))},
		{"cuStreamGetPriority", ClassStream, 0, ptsz, list(stream(0))},
		{"cuStreamGetFlags", ClassStream, 0, ptsz, list(stream(0))},
		{"cuStreamGetCtx", ClassStream, 0, "- _ptsz _v2 _v2_ptsz", list(stream(0))},
		{"cuStreamGetId", ClassStream, 0, ptsz, list(stream(0))},
		{"cuStreamGetDevice", ClassStream, 0, ptsz, list(stream(0))},
		{"cuStreamAttachMemAsync", ClassStream, enq, ptsz, list(stream(0))},
		{"cuStreamSetAttribute", ClassStream, 0, ptsz, list(stream(0))},
		{"cuStreamGetAttribute", ClassStream, 0, ptsz, list(stream(0))},
		{"cuEventCreate", ClassEvent, blocks, "", nil},
		{"cuEventDestroy", ClassEvent, blocks, "_v2 -", nil},
		{"cuEventElapsedTime", ClassEvent, 0, "- _v2", nil},
		{"cuCtxCreate", ClassContext, blocks, "_v2 _v3 _v4 -", nil},
		{"cuCtxDestroy", ClassContext, blocks, "_v2 -", nil},
		{"cuCtxSetCurrent", ClassContext, 0, "", nil},
		{"cuCtxGetCurrent", ClassContext, 0, "", nil},
		{"cuCtxPushCurrent", ClassContext, 0, "_v2 -", nil},
		{"cuCtxPopCurrent", ClassContext, 0, "_v2 -", nil},
		{"cuCtxGetDevice", ClassContext, 0, "- _v2", nil},
		{"cuCtxGetFlags", ClassContext, 0, "", nil},
		{"cuCtxGetId", ClassContext, 0, "", nil},
		{"cuCtxGetApiVersion", ClassContext, 0, "", nil},
		{"cuCtxGetLimit", ClassContext, 0, "", nil},
		{"cuCtxSetLimit", ClassContext, blocks, "", nil},
		{"cuCtxGetStreamPriorityRange", ClassContext, 0, "", nil},
		{"cuCtxEnablePeerAccess", ClassContext, blocks, "", nil},
		{"cuCtxDisablePeerAccess", ClassContext, blocks, "", nil},
		{"cuDevicePrimaryCtxRetain", ClassContext, blocks, "", nil},
		{"cuDevicePrimaryCtxRelease", ClassContext, blocks, "_v2 -", nil},
		{"cuDevicePrimaryCtxReset", ClassContext, blocks, "_v2 -", nil},
		{"cuDevicePrimaryCtxSetFlags", ClassContext, blocks, "_v2 -", nil},
		{"cuDevicePrimaryCtxGetState", ClassContext, 0, "", nil},
		{"cuInit", ClassContext, blocks, "", nil},
	}
}

func cudaModules() []row {
	fn, name := out(event.FieldFunction, 0), text(2)
	return []row{
		{"cuModuleLoad", ClassModule, blocks, "", nil},
		{"cuModuleLoadData", ClassModule, blocks, "", nil},
		{"cuModuleLoadDataEx", ClassModule, blocks, "", nil},
		{"cuModuleLoadFatBinary", ClassModule, blocks, "", nil},
		{"cuModuleUnload", ClassModule, blocks, "", nil},
		{"cuLibraryLoadData", ClassModule, blocks, "", nil},
		{"cuLibraryLoadFromFile", ClassModule, blocks, "", nil},
		{"cuLibraryUnload", ClassModule, blocks, "", nil},
		{"cuLinkCreate", ClassModule, blocks, "_v2 -", nil},
		{"cuLinkAddData", ClassModule, blocks, "_v2 -", nil},
		{"cuLinkAddFile", ClassModule, blocks, "_v2 -", nil},
		{"cuLinkComplete", ClassModule, blocks, "", nil},
		{"cuLinkDestroy", ClassModule, blocks, "", nil},
		{"cuModuleGetFunction", ClassGetFunction, blocks, "", list(fn, name)},
		{"cuLibraryGetKernel", ClassGetFunction, blocks, "", list(fn, name)},
		// The kernel is the address: one handle becomes another of the same name.
		{"cuKernelGetFunction", ClassGetFunction, blocks, "", list(fn, addr(1))},
		{"cuLibraryGetModule", ClassModule, blocks, "", nil},
		{"cuModuleGetGlobal", ClassModule, blocks, "_v2 -", nil},
		{"cuLibraryGetGlobal", ClassModule, blocks, "", nil},
		{"cuModuleGetLoadingMode", ClassModule, 0, "", nil},
		{"cuFuncGetName", ClassOther, 0, "", nil},
		{"cuKernelGetName", ClassOther, 0, "", nil},
		{"cuFuncGetAttribute", ClassOther, 0, "", nil},
		{"cuFuncSetAttribute", ClassOther, 0, "", nil},
		{"cuFuncSetCacheConfig", ClassOther, 0, "", nil},
		{"cuFuncLoad", ClassModule, blocks, "", nil},
		{"cuKernelGetAttribute", ClassOther, 0, "", nil},
		{"cuKernelSetAttribute", ClassOther, 0, "", nil},
	}
}

func cudaGraphs() []row {
	s0 := list(stream(0))
	return []row{
		{"cuStreamBeginCapture", ClassStream, 0, "_v2 _v2_ptsz - _ptsz", s0},
		{"cuStreamBeginCaptureToGraph", ClassStream, 0, ptsz, s0},
		{"cuStreamEndCapture", ClassStream, 0, ptsz, s0},
		{"cuStreamIsCapturing", ClassStream, 0, ptsz, s0},
		{"cuStreamGetCaptureInfo", ClassStream, 0, "_v2 _v2_ptsz _v3 _v3_ptsz - _ptsz", s0},
		{"cuStreamUpdateCaptureDependencies", ClassStream, 0, "- _ptsz _v2 _v2_ptsz", s0},
		{"cuThreadExchangeStreamCaptureMode", ClassStream, 0, "", nil},
		{"cuGraphCreate", ClassOther, 0, "", nil},
		{"cuGraphDestroy", ClassOther, 0, "", nil},
		{"cuGraphInstantiate", ClassOther, blocks, "_v2 -", nil},
		{"cuGraphInstantiateWithFlags", ClassOther, blocks, "", nil},
		{"cuGraphInstantiateWithParams", ClassOther, blocks, ptsz, nil},
		{"cuGraphAddKernelNode", ClassOther, 0, "_v2 -", nil},
		{"cuGraphAddMemcpyNode", ClassOther, 0, "", nil},
		{"cuGraphAddMemsetNode", ClassOther, 0, "", nil},
		{"cuGraphAddNode", ClassOther, 0, "- _v2", nil},
		{"cuGraphExecUpdate", ClassOther, blocks, "_v2 -", nil},
		{"cuGraphExecKernelNodeSetParams", ClassOther, 0, "_v2 -", nil},
		{"cuGraphExecDestroy", ClassOther, blocks, "", nil},
	}
}

func cudaQueries() []row {
	names := []string{
		"cuDriverGetVersion", "cuDeviceGet", "cuDeviceGetCount", "cuDeviceGetName", "cuDeviceGetAttribute",
		"cuDeviceCanAccessPeer", "cuDeviceGetByPCIBusId", "cuDeviceGetPCIBusId", "cuDeviceComputeCapability",
		"cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool", "cuPointerGetAttribute", "cuPointerGetAttributes", "cuPointerSetAttribute",
		"cuGetErrorName", "cuGetErrorString", "cuGetExportTable",
		"cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
		"cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxActiveClusters", "cuMemGetAllocationGranularity",
		"cuMemHostGetFlags", "cuMemPoolGetAttribute", "cuMemPoolSetAttribute", "cuMemPoolSetAccess", "cuTensorMapEncodeTiled",
	}
	rows := []row{
		{"cuDeviceGetUuid", ClassOther, 0, "- _v2", nil},
		{"cuDeviceTotalMem", ClassOther, 0, "_v2 -", nil},
		{"cuMemGetInfo", ClassOther, blocks, "_v2 -", nil},
		{"cuMemGetAddressRange", ClassOther, 0, "_v2 -", nil},
		{"cuMemHostGetDevicePointer", ClassOther, 0, "_v2 -", nil},
		{"cuIpcGetMemHandle", ClassOther, 0, "", nil},
		{"cuIpcGetEventHandle", ClassOther, 0, "", nil},
		{"cuIpcOpenEventHandle", ClassOther, 0, "", nil},
		// The name asked for; *pfn at return is what the program will call.
		{"cuGetProcAddress", ClassOther, 0, "_v2 -", nil},
	}
	for _, n := range names {
		rows = append(rows, row{n, ClassOther, 0, "", nil})
	}
	return rows
}
