package chromejson

import "bytes"

// flavour says whose trace-event JSON it is.
type flavour uint8

const (
	flavourNone flavour = iota
	flavourChrome
	flavourKineto
)

// sniff tells whether head begins a file of trace-event JSON: an array whose
// first member is an object with a phase, or an object with an array of events
// or with a member that only such files have.
func sniff(head []byte) flavour {
	b := bytes.TrimPrefix(head, []byte("\ufeff"))
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) < 2 {
		return flavourNone
	}
	switch b[0] {
	case '[':
		first := bytes.TrimLeft(b[1:], " \t\r\n")
		if len(first) == 0 || first[0] != '{' || !bytes.Contains(first, []byte(`"ph"`)) {
			return flavourNone
		}
	case '{':
		if !hasMember(b) {
			return flavourNone
		}
	default:
		return flavourNone
	}
	if bytes.Contains(b, ownSign) { // an export shows calls of Kineto's categories, too
		return flavourChrome
	}
	if isKineto(b) {
		return flavourKineto
	}
	return flavourChrome
}

// hasMember looks for the members of the outermost object. It stops at the
// first array of events, or where the JSON ends.
func hasMember(b []byte) bool {
	b = append(append(make([]byte, 0, len(b)+padding), b...), make([]byte, padding)...)
	x := lexer{b: b, end: len(b) - padding}
	kineto := 0
	for i := x.blank(1); b[i] == '"'; {
		q, _ := x.text(i + 1)
		if q < 0 {
			break
		}
		key := string(b[i+1 : q])
		i = x.blank(q + 1)
		if b[i] != ':' {
			break
		}
		i = x.blank(i + 1)
		switch key {
		case "traceEvents", "systemTraceEvents":
			return b[i] == '[' || b[i] == '"'
		case "schemaVersion", "deviceProperties", "baseTimeNanoseconds", "distributedInfo", "displayTimeUnit":
			if kineto++; kineto == 2 {
				return true
			}
		}
		if i = x.value(i); i < 0 {
			break
		}
		if i = x.blank(i); b[i] != ',' {
			break
		}
		i = x.blank(i + 1)
	}
	return false
}

var ownSign = []byte(`"name":"gpurec","export":`)

var kinetoSigns = [][]byte{
	[]byte(`"deviceProperties"`), []byte(`"baseTimeNanoseconds"`), []byte(`"distributedInfo"`), []byte(`"cuda_runtime"`),
	[]byte(`"cpu_op"`), []byte(`"gpu_memcpy"`), []byte(`"user_annotation"`), []byte(`"cuda_driver"`), []byte(`"python_function"`),
}

func isKineto(b []byte) bool {
	for _, s := range kinetoSigns {
		if bytes.Contains(b, s) {
			return true
		}
	}
	return false
}
