package perfetto

import "bytes"

// kinds of the fields of a TracePacket that a trace may begin with.
var packetFields = map[uint32]uint8{
	1: wireBytes, 2: wireBytes, 3: wireVarint, 6: wireBytes, 8: wireVarint, 9: wireBytes, 10: wireVarint, 11: wireBytes, 12: wireBytes, 13: wireVarint,
	33: wireBytes, 35: wireBytes, 36: wireBytes, 41: wireVarint, 42: wireVarint, 43: wireBytes, 44: wireBytes, 45: wireBytes, 46: wireBytes, 50: wireBytes, 52: wireBytes, 53: wireBytes,
	58: wireVarint, 59: wireBytes, 60: wireBytes, 63: wireBytes, 69: wireBytes, 71: wireBytes, 72: wireBytes, 79: wireVarint,
	87: wireVarint, 88: wireVarint, 89: wireBytes, 98: wireVarint, 128: wireBytes, 129: wireBytes,
}

// sniff reports whether head begins with packets: of the first ones every
// field must be known and of its type.
func sniff(head []byte) bool {
	fields := 0
	for n := 0; n < 8 && len(head) > 0; n++ {
		if head[0] != 1<<3|wireBytes {
			return false
		}
		size, m := uvarint(head[1:])
		if m <= 0 || size > maxPacket {
			return false
		}
		body := head[1+m:]
		whole := size <= uint64(len(body))
		if whole {
			head = body[size:]
			body = body[:size]
		} else {
			head = nil
		}
		msg := message{b: body}
		var f field
		last := msg.b
		for msg.next(&f) {
			if !fits(&f, n == 0) {
				return false
			}
			fields++
			last = msg.b
		}
		if msg.bad && whole {
			return false
		}
		if msg.bad && sniffCut(last, size-uint64(len(body)-len(last)), n == 0) {
			fields++
		}
	}
	return fields > 0
}

// fits reports whether a field may be one of a packet; first: of the first one.
func fits(f *field, first bool) bool {
	w, ok := packetFields[f.num]
	return ok && w == f.wire || !ok && (f.num >= 200 || !first) && f.wire != wireFixed32
}

// sniffCut reports whether head, the beginning of a packet's last size bytes,
// begins a field that is longer than head: many compressed packets, or events of
// one CPU.
func sniffCut(head []byte, size uint64, first bool) bool {
	tag, n := uvarint(head)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return false
	}
	f := field{num: uint32(tag >> 3), wire: uint8(tag & 7)}
	if _, known := packetFields[f.num]; !known || f.wire != wireBytes || !fits(&f, first) {
		return false
	}
	long, m := uvarint(head[n:])
	return m > 0 && uint64(n+m) <= size && long <= size-uint64(n+m)
}

// sniffText reports whether head begins the text form: comments, then a packet.
func sniffText(head []byte) bool {
	for range 200 {
		line, rest, more := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimSpace(line)
		head = rest
		if len(line) == 0 || line[0] == '#' {
			if !more {
				return false
			}
			continue
		}
		s, ok := bytes.CutPrefix(line, []byte("packet"))
		s = bytes.TrimLeft(s, ": \t")
		return ok && len(s) > 0 && (s[0] == '{' || s[0] == '<')
	}
	return false
}
