package gpu

import "github.com/gpurec/gpurec/record/event"

// nccl are the entry points of libnccl.so.2 and of librccl.so.1, which has the
// same. A call returns when its work is enqueued; within a group that happens
// at ncclGroupEnd. Bytes are what one rank gives (or gets, where it only gets):
// the call's count times the size of its type.
func nccl() []row {
	// A count in one slot and the type in the next.
	data := func(count uint8) []Arg {
		return list(bytes(count), Arg{Field: event.FieldBytes, Slot: count + 1, Width: 4, Unit: UnitNCCLType})
	}
	sixth, stacked, stacked2 := join(data(2), list(stream(5))), join(data(2), list(stream(6))), join(data(2), list(stream(7)))
	short := join(data(1), list(stream(5)))
	var rows []row
	add := func(c Class, f flag, args []Arg, names ...string) {
		for _, n := range names {
			rows = append(rows, row{n, c, f, "- =p" + n, args})
		}
	}
	add(ClassCollective, enq, stacked, "ncclAllReduce", "ncclReduceScatter", "ncclBroadcast", "ncclGather", "ncclScatter")
	add(ClassCollective, enq, stacked2, "ncclReduce")
	add(ClassCollective, enq, sixth, "ncclAllGather", "ncclAlltoAll")
	add(ClassCollective, enq, short, "ncclBcast", "ncclSend", "ncclRecv")
	// RCCL only.
	add(ClassCollective, enq, sixth, "ncclAllToAll")
	add(ClassCollective, enq, nil, "ncclAllToAllv", "ncclPutSignal", "ncclSignal", "ncclWaitSignal")
	add(ClassOther, 0, nil, "ncclGroupStart")
	add(ClassCollective, enq, nil, "ncclGroupEnd")
	add(ClassOther, blocks, nil, "ncclGroupSimulateEnd", "ncclGetUniqueId", "ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable",
		"ncclCommInitAll", "ncclCommSplit", "ncclCommShrink", "ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort", "ncclCommRevoke",
		"ncclCommRegister", "ncclCommDeregister", "ncclMemAlloc", "ncclMemFree", "ncclRedOpCreatePreMulSum", "ncclRedOpDestroy")
	add(ClassOther, 0, nil, "ncclGetVersion", "ncclGetErrorString", "ncclGetLastError", "ncclCommGetAsyncError", "ncclCommCount", "ncclCommCuDevice", "ncclCommUserRank")
	return rows
}
