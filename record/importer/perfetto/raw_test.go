package perfetto

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// encode makes protobuf of the form in which protoc --decode_raw prints it:
//
//	1 { 8: 100 11 { 9: 1 23: "name" } }
//
// Numbers are varints, -5 too; 0x0000000000000001 is a fixed64; text and
// braces are length-delimited; # begins a comment.
func encode(t testing.TB, text string) []byte {
	t.Helper()
	var clean strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if i := comment(l); i >= 0 {
			l = l[:i]
		}
		clean.WriteString(l + "\n")
	}
	p := rawParser{s: clean.String()}
	b, err := p.message(true)
	if err != nil {
		t.Fatalf("raw text: %v near %.40q", err, p.s)
	}
	return b
}

// comment finds a # outside of quotes.
func comment(l string) int {
	quoted := false
	for i := 0; i < len(l); i++ {
		switch {
		case l[i] == '\\':
			i++
		case l[i] == '"':
			quoted = !quoted
		case l[i] == '#' && !quoted:
			return i
		}
	}
	return -1
}

type rawParser struct{ s string }

func (p *rawParser) message(top bool) ([]byte, error) {
	var b []byte
	for {
		p.s = strings.TrimLeft(p.s, " \t\n")
		if p.s == "" {
			if top {
				return b, nil
			}
			return nil, fmt.Errorf("no closing brace")
		}
		if p.s[0] == '}' && !top {
			p.s = p.s[1:]
			return b, nil
		}
		i := strings.IndexAny(p.s, ": {")
		if i < 0 {
			return nil, fmt.Errorf("no field")
		}
		num, err := strconv.Atoi(p.s[:i])
		if err != nil {
			return nil, err
		}
		n := protowire.Number(num)
		p.s = strings.TrimLeft(p.s[i:], ": \t")
		switch {
		case strings.HasPrefix(p.s, "{"):
			p.s = p.s[1:]
			sub, err := p.message(false)
			if err != nil {
				return nil, err
			}
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), sub)
		case strings.HasPrefix(p.s, `"`):
			q, err := strconv.QuotedPrefix(p.s)
			if err != nil {
				return nil, err
			}
			p.s = p.s[len(q):]
			v, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
		default:
			i := strings.IndexAny(p.s, " \t\n}")
			w := p.s[:i]
			p.s = p.s[i:]
			if h, ok := strings.CutPrefix(w, "0x"); ok {
				v, err := strconv.ParseUint(h, 16, 64)
				if err != nil {
					return nil, err
				}
				b = protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), v)
				continue
			}
			v, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				u, err := strconv.ParseUint(w, 10, 64)
				if err != nil {
					return nil, err
				}
				v = int64(u)
			}
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
		}
	}
}
