package gpu

// StatusOffset says where an ioctl's struct holds its own status, for drivers
// whose ioctl returns 0 even on failure: NVIDIA's RM and UVM (NV_STATUS, 32
// bits, 0 is success), to be read when the ioctl returns. It is false where the
// place is unknown. Offsets are those of release 595.45.04; RM's are given only
// for the struct size that the request number states, UVM's numbers state none.
func StatusOffset(driver string, cmd uint32) (int, bool) {
	i, ok := LookupIoctl(driver, cmd)
	if !ok {
		return 0, false
	}
	key := statusKey{i.Driver, i.NR, 0}
	switch i.Driver {
	case driverNVIDIA:
		key.size = uint16(cmdSize(cmd))
	case driverUVM:
		if cmd >= uvmBig {
			key.size = 1
		}
	}
	o, ok := statusOffsets[key]
	return o, ok
}

type statusKey struct {
	driver string
	nr     uint8
	size   uint16 // RM: size in the request number; UVM: 1 for the numbers of 32 bits
}

var statusOffsets = map[statusKey]int{
	{driverNVIDIA, 0x29, 16}: 12,
	{driverNVIDIA, 0x2a, 32}: 28,
	{driverNVIDIA, 0x2b, 48}: 40, // NVOS64
	{driverNVIDIA, 0x2b, 32}: 28, // NVOS21
	{driverNVIDIA, 0x4e, 56}: 40,
	{driverNVIDIA, 0x57, 64}: 56,

	{driverUVM, 1, 1}:  8,
	{driverUVM, 2, 1}:  8,
	{driverUVM, 25, 0}: 28,
	{driverUVM, 27, 0}: 48,
	{driverUVM, 33, 0}: 9260,
	{driverUVM, 34, 0}: 8,
	{driverUVM, 37, 0}: 36,
	{driverUVM, 39, 0}: 4,
	{driverUVM, 42, 0}: 36,
	{driverUVM, 43, 0}: 36,
	{driverUVM, 44, 0}: 16,
	{driverUVM, 45, 0}: 16,
	{driverUVM, 46, 0}: 32,
	{driverUVM, 47, 0}: 32,
	{driverUVM, 51, 0}: 72,
	{driverUVM, 53, 0}: 24,
}

// Xid returns what an Xid code of NVIDIA's driver means (nverror.h), false if
// it is not in the table.
func Xid(code uint32) (string, bool) {
	s, ok := xids[code]
	return s, ok
}

var xids = map[uint32]string{
	13:  "graphics engine exception",
	31:  "MMU fault",
	32:  "PBDMA error",
	43:  "channel reset after an application's fault",
	44:  "fault during a context switch",
	45:  "preemptive channel removal, often after another Xid",
	48:  "double-bit ECC error",
	58:  "framebuffer error",
	59:  "PMU error",
	61:  "PMU breakpoint",
	62:  "PMU halt",
	63:  "page or row retirement recorded",
	64:  "page or row retirement failed",
	69:  "graphics engine class error",
	74:  "NVLink error",
	79:  "GPU has fallen off the bus",
	90:  "L2 cache (LTC) error",
	92:  "high rate of single-bit ECC errors",
	94:  "contained ECC error",
	95:  "uncontained ECC error",
	109: "context switch timeout",
	110: "security (SEC) fault",
	119: "GSP RPC timeout",
	120: "GSP error",
	121: "C2C link error",
	136: "ALI training failed",
	137: "NVLink privilege error",
	140: "unrecovered ECC error",
	143: "GPU initialisation error",
	144: "NVLink error (SAW)",
	145: "NVLink error (RLW)",
	146: "NVLink error (TLW)",
	147: "NVLink error (TREX)",
	148: "NVLink error (NVLPW_CTRL)",
	149: "NVLink error (NETIR)",
	150: "NVLink error (MSE)",
	151: "key rotation error",
	154: "GPU recovery action changed",
	155: "NVLink software-defined error",
	156: "resource retirement recorded",
	157: "resource retirement failed",
	158: "fatal timeout",
	160: "channel retirement recorded",
	161: "channel retirement failed",
	167: "PCIe fatal timeout",
	171: "uncorrectable DRAM error",
	172: "uncorrectable SRAM error",
	173: "C2C fatal error",
}
