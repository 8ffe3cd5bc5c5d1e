package ftracetext

import (
	"bytes"

	"github.com/gpurec/gpurec/record/event"
)

// envelope finds the trace inside of an Android systrace HTML file: in
// <script class="trace-data"> elements, or, in files of 2012, in a JavaScript
// string whose lines end in \n\.
type envelope struct {
	state envelopeState
	first bool // the first line has been looked at
	buf   []byte
}

type envelopeState uint8

const (
	bareText     envelopeState = iota
	outsideHTML                // between the traces of an HTML file
	inHTML                     // in a trace-data element
	inLegacyHTML               // in the JavaScript string
	inOtherData                // in a trace-data element that holds something else
)

// envelope takes the wrapping off a line; it reports whether a line is left.
func (r *reader) envelope(b *event.Batch, line []byte) ([]byte, bool) {
	v := &r.env
	if !v.first {
		v.first = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		if isHTML(line) {
			v.state = outsideHTML
		}
	}
	if v.state == bareText {
		return line, true
	}
	t := trimLeft(line)
	switch v.state {
	case outsideHTML:
		r.tally.markup++
		switch {
		case bytes.HasPrefix(t, []byte(`<script class="trace-data"`)):
			v.state = inHTML
		case bytes.HasPrefix(t, []byte("var linuxPerfData = ")):
			v.state = inLegacyHTML
		}
		r.close(b)
		return nil, false
	case inLegacyHTML:
		line = v.unescape(line)
		if v.state != inLegacyHTML {
			r.close(b)
		}
		return line, true
	}
	if bytes.HasPrefix(t, []byte("</script>")) {
		r.tally.markup++
		v.state = outsideHTML
		r.close(b)
		return nil, false
	}
	if v.state == inHTML && len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		v.state = inOtherData
	}
	if v.state == inOtherData {
		r.tally.markup++
		r.note(&AnomalyOtherData)
		if bytes.Contains(t, []byte("</script>")) {
			v.state = outsideHTML
		}
		return nil, false
	}
	return line, true
}

func isHTML(line []byte) bool {
	t := bytes.ToLower(trimLeft(line[:min(len(line), 256)]))
	return bytes.HasPrefix(t, []byte("<!doctype html")) || bytes.HasPrefix(t, []byte("<html"))
}

// unescape takes the JavaScript off a line of the string: its end \n\, or
// "; after the last line, and the escapes inside.
func (v *envelope) unescape(line []byte) []byte {
	if s, ok := bytes.CutSuffix(line, []byte(`\n\`)); ok {
		line = s
	} else if s, ok := bytes.CutSuffix(line, []byte(`";`)); ok {
		line = bytes.TrimSuffix(s, []byte(`\n`))
		v.state = outsideHTML
	} else {
		line = bytes.TrimSuffix(line, []byte(`\`))
	}
	if bytes.IndexByte(line, '\\') < 0 {
		return line
	}
	v.buf = v.buf[:0]
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '\\' && i+1 < len(line) {
			i++
			switch c = line[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		v.buf = append(v.buf, c)
	}
	return v.buf
}
