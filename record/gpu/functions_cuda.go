package gpu

import "github.com/gpurec/gpurec/record/event"

// The spellings of cuda.h 12.6: "ptds" for calls that take no stream, "ptsz"
// for those that take one.
const (
	ptsz   = "- _ptsz"
	ptds   = "- _ptds"
	v2ptsz = "_v2 _v2_ptsz v1"
	v2ptds = "_v2 _v2_ptds v1"
)

// cuLaunch is the layout of cuLaunchKernel and hipModuleLaunchKernel.
func cuLaunch() []Arg {
	return join(list(u64(event.FieldFunction, 0)), grid3(1), block3(4),
		list(u32(event.FieldSharedMemBytes, 7), stream(8)))
}

// cudaDriver are the entry points of libcuda.so.1.
func cudaDriver() []row {
	var rows []row
	for _, r := range [][]row{cudaLaunches(), cudaCopies(), cudaSets(), cudaMemory(), cudaSyncs(), cudaObjects(), cudaModules(), cudaGraphs(), cudaQueries()} {
		rows = append(rows, r...)
	}
	return rows
}

func cudaLaunches() []row {
	launch := cuLaunch()
	return []row{
		{"cuLaunchKernel", ClassLaunch, enq, ptsz, launch},
		{"cuLaunchKernelEx", ClassLaunch, enq, ptsz, join(list(u64(event.FieldFunction, 1)), config(0, 4))},
		{"cuLaunchCooperativeKernel", ClassLaunch, enq, ptsz, launch},
		{"cuLaunchCooperativeKernelMultiDevice", ClassLaunch, enq, "", nil},
		{"cuLaunchHostFunc", ClassStream, enq, "- _ptsz _v2 _v2_ptsz", list(stream(0))},
		{"cuGraphLaunch", ClassGraphLaunch, enq, ptsz, list(stream(1))},
		{"cuGraphUpload", ClassOther, enq, ptsz, list(stream(1))},
		{"cuLaunch", ClassLaunch, enq, "", list(u64(event.FieldFunction, 0))},
		{"cuLaunchGrid", ClassLaunch, enq, "", list(u64(event.FieldFunction, 0), u32(event.FieldGridX, 1), u32(event.FieldGridY, 2))},
		{"cuLaunchGridAsync", ClassLaunch, enq, "", list(u64(event.FieldFunction, 0), u32(event.FieldGridX, 1), u32(event.FieldGridY, 2), stream(3))},
	}
}

func cudaCopies() []row {
	c2, c3 := join(extent(112, 2), memTypes(16, 72)), join(extent(176, 3), memTypes(32, 120))
	return []row{
		{"cuMemcpy", ClassMemcpy, blocks, ptds, list(bytes(2))},
		{"cuMemcpyHtoD", ClassMemcpy, blocks | htod, v2ptds, list(bytes(2))},
		{"cuMemcpyDtoH", ClassMemcpy, blocks | dtoh, v2ptds, list(bytes(2))},
		{"cuMemcpyDtoD", ClassMemcpy, blocks | dtod, v2ptds, list(bytes(2))},
		{"cuMemcpyDtoA", ClassMemcpy, blocks | dtod, v2ptds, list(bytes(3))},
		{"cuMemcpyAtoD", ClassMemcpy, blocks | dtod, v2ptds, list(bytes(3))},
		{"cuMemcpyHtoA", ClassMemcpy, blocks | htod, v2ptds, list(bytes(3))},
		{"cuMemcpyAtoH", ClassMemcpy, blocks | dtoh, v2ptds, list(bytes(3))},
		{"cuMemcpyAtoA", ClassMemcpy, blocks | dtod, v2ptds, list(bytes(4))},
		{"cuMemcpyPeer", ClassMemcpy, blocks | ptop, ptds, list(bytes(4))},
		{"cuMemcpyAsync", ClassMemcpy, enq, ptsz, list(bytes(2), stream(3))},
		{"cuMemcpyHtoDAsync", ClassMemcpy, enq | htod, v2ptsz, list(bytes(2), stream(3))},
		{"cuMemcpyDtoHAsync", ClassMemcpy, enq | dtoh, v2ptsz, list(bytes(2), stream(3))},
		{"cuMemcpyDtoDAsync", ClassMemcpy, enq | dtod, v2ptsz, list(bytes(2), stream(3))},
		{"cuMemcpyHtoAAsync", ClassMemcpy, enq | htod, v2ptsz, list(bytes(3), stream(4))},
		{"cuMemcpyAtoHAsync", ClassMemcpy, enq | dtoh, v2ptsz, list(bytes(3), stream(4))},
		{"cuMemcpyPeerAsync", ClassMemcpy, enq | ptop, ptsz, list(bytes(4), stream(5))},
		{"cuMemcpy2D", ClassMemcpy, blocks, v2ptds, c2},
		{"cuMemcpy2DUnaligned", ClassMemcpy, blocks, v2ptds, c2},
		{"cuMemcpy3D", ClassMemcpy, blocks, v2ptds, c3},
		{"cuMemcpy3DPeer", ClassMemcpy, blocks | ptop, ptds, nil},
		{"cuMemcpy2DAsync", ClassMemcpy, enq, v2ptsz, join(c2, list(stream(1)))},
		{"cuMemcpy3DAsync", ClassMemcpy, enq, v2ptsz, join(c3, list(stream(1)))},
		{"cuMemcpy3DPeerAsync", ClassMemcpy, enq | ptop, ptsz, list(stream(1))},
		{"cuMemcpyBatchAsync", ClassMemcpy, enq, "- _ptsz _v2 _v2_ptsz", nil},
		{"cuMemcpy3DBatchAsync", ClassMemcpy, enq, "- _ptsz _v2 _v2_ptsz", nil},
	}
}

func cudaSets() []row {
	var rows []row
	for _, t := range []struct {
		bits string
		size uint16
	}{{"8", 1}, {"16", 2}, {"32", 4}} {
		n, w, h := elems(2, t.size), elems(3, t.size), bytes(4)
		rows = append(rows,
			row{"cuMemsetD" + t.bits, ClassMemset, blocks, v2ptds, list(n)},
			row{"cuMemsetD2D" + t.bits, ClassMemset, blocks, v2ptds, list(w, h)},
			row{"cuMemsetD" + t.bits + "Async", ClassMemset, enq, ptsz, list(n, stream(3))},
			row{"cuMemsetD2D" + t.bits + "Async", ClassMemset, enq, ptsz, list(w, h, stream(5))})
	}
	return rows
}

func cudaMemory() []row {
	address := out(event.FieldAddress, 0)
	return []row{
		{"cuMemAlloc", ClassAlloc, blocks, "_v2 v1", list(address, bytes(1))},
		// Width times height: the pitch that the driver chooses may add to it.
		{"cuMemAllocPitch", ClassAlloc, blocks, "_v2 v1", list(address, bytes(2), bytes(3))},
		{"cuMemAllocManaged", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cuMemAllocHost", ClassAlloc, blocks, "_v2 v1b", list(address, bytes(1))},
		{"cuMemHostAlloc", ClassAlloc, blocks, "", list(address, bytes(1))},
		{"cuMemAllocAsync", ClassAlloc, enq, ptsz, list(address, bytes(1), stream(2))},
		{"cuMemAllocFromPoolAsync", ClassAlloc, enq, ptsz, list(address, bytes(1), stream(3))},
		{"cuMemCreate", ClassAlloc, blocks, "", list(bytes(1))},
		{"cuArrayCreate", ClassAlloc, blocks, "_v2 v1", nil},
		{"cuArray3DCreate", ClassAlloc, blocks, "_v2 v1", nil},
		{"cuMipmappedArrayCreate", ClassAlloc, blocks, "", nil},
		{"cuMemFree", ClassFree, blocks, "_v2 v1", list(addr(0))},
		{"cuMemFreeAsync", ClassFree, enq, ptsz, list(addr(0), stream(1))},
		{"cuMemFreeHost", ClassFree, blocks, "", list(addr(0))},
		{"cuMemRelease", ClassFree, blocks, "", nil},
		{"cuArrayDestroy", ClassFree, blocks, "", nil},
		{"cuMipmappedArrayDestroy", ClassFree, blocks, "", nil},
		{"cuMemHostRegister", ClassMap, blocks, "_v2 -", list(addr(0), bytes(1))},
		{"cuMemHostUnregister", ClassMap, blocks, "", list(addr(0))},
		{"cuMemAddressReserve", ClassMap, blocks, "", list(address, bytes(1))},
		{"cuMemAddressFree", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"cuMemMap", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"cuMemMapArrayAsync", ClassMap, enq, ptsz, list(stream(2))},
		{"cuMemUnmap", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"cuMemSetAccess", ClassMap, blocks, "", list(addr(0), bytes(1))},
		{"cuMemPrefetchAsync", ClassMap, enq, "- _ptsz _v2 _v2_ptsz", list(addr(0), bytes(1), stream(3))},
		{"cuMemAdvise", ClassMap, blocks, "- _v2", list(addr(0), bytes(1))},
		{"cuMemPoolCreate", ClassOther, blocks, "", nil},
		{"cuMemPoolDestroy", ClassOther, blocks, "", nil},
		{"cuMemPoolTrimTo", ClassOther, blocks, "", nil},
		{"cuMemImportFromShareableHandle", ClassOther, blocks, "", nil},
		{"cuMemExportToShareableHandle", ClassOther, blocks, "", nil},
		{"cuIpcOpenMemHandle", ClassMap, blocks, "_v2 -", list(address)},
		{"cuIpcCloseMemHandle", ClassMap, blocks, "", list(addr(0))},
	}
}

// extras are the variants whose arguments moved.
func extras() []extra {
	// The location (8 bytes, by value) and the flags took the place of the device.
	prefetch2 := list(addr(0), bytes(1), stream(4))
	return []extra{
		{"cuMemPrefetchAsync_v2", prefetch2},
		{"cuMemPrefetchAsync_v2_ptsz", prefetch2},
		{"cudaMemPrefetchAsync_v2", prefetch2},
		{"cudaMemPrefetchAsync_v2_ptsz", prefetch2},
		{"cuArrayCreate", nil},
	}
}
