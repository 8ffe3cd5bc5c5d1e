package picture

import (
	"strconv"

	"github.com/gpurec/gpurec/correlate"
)

// drawSample draws where a thread was, with its stack, innermost frame first.
func (d *drawer) drawSample(r *correlate.Sample, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.pen.Name(firstOf(r.Name, "sample"))
	d.pen.Category(catSample)
	d.samples++
	d.pen.Int(argSampleID, d.samples)
	d.argDur(argCPU, r.CPU)
	if r.Period.OK {
		d.pen.Uint(argPeriod, r.Period.V)
	}
	d.pen.Str(argStack, r.Stack)
	d.pen.Done()
}

// drawMap draws that memory was mapped for a GPU, or unmapped. Addresses are
// written as everywhere else they are read: in hexadecimal.
func (d *drawer) drawMap(r *correlate.MemMap, k *key) {
	d.instant(d.threadTrack(r.ProcessID, r.PID, r.TID), k.start)
	d.pen.Name(firstOf(r.Op, "map"))
	d.pen.Category(catMemMap)
	d.pen.Int(argMemMapID, int64(r.ID))
	d.pen.Str(argDevice, d.deviceArg(r.DeviceID))
	d.argHex(argAddress, r.Address)
	if r.Bytes.OK {
		d.pen.Uint(argBytes, r.Bytes.V)
	}
	d.argHex(argObjectPtr, r.ObjectPtr)
	d.pen.Done()
}

func (d *drawer) argHex(a Arg, v correlate.OptUint) {
	if v.OK {
		d.buf = strconv.AppendUint(append(d.buf[:0], "0x"...), v.V, 16)
		d.pen.Bytes(a, d.buf)
	}
}
