package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"html"
	"regexp"
	"strings"

	"github.com/gpurec/gpurec/export/perfetto/check"
)

func (p *picture) x(t int64) float64 {
	t = min(max(t, p.from), p.to)
	return labels + float64(t-p.from)/float64(p.to-p.from)*(width-labels)
}

func (p *picture) svg(rep *check.Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="Roboto, Helvetica, Arial, sans-serif" font-size="11">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0L8,4L0,8z" fill="#c0392b"/></marker></defs>
<rect width="%d" height="%d" fill="#fff"/>
`, width, p.height, width, p.height, width, p.height)
	p.axis(&b)
	for _, r := range p.list {
		p.row(&b, r)
	}
	p.arrows(&b, rep)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// axis draws a line each 1, 2 or 5 × 10^k ns, at most twelve.
func (p *picture) axis(b *bytes.Buffer) {
	step := int64(1)
	for k := 0; (p.to-p.from)/step > 12; k++ {
		step = []int64{1, 2, 5}[k%3] * pow10(k/3)
	}
	for t := p.first + (p.from-p.first+step-1)/step*step; t < p.to; t += step {
		fmt.Fprintf(b, `<path d="M%.1f,%dV%d" stroke="#e3e6e8"/><text x="%.1f" y="15" fill="#667">%s</text>`+"\n",
			p.x(t), top-4, p.height, p.x(t)+3, fmt.Sprintf("+%.4g ms", float64(t-p.first)/1e6))
	}
}

func pow10(k int) int64 {
	n := int64(1)
	for range k {
		n *= 10
	}
	return n
}

func (p *picture) row(b *bytes.Buffer, r *row) {
	if r.head {
		fmt.Fprintf(b, `<rect y="%d" width="%d" height="%d" fill="#262f3c"/><text x="8" y="%d" fill="#fff">%s</text>`+"\n",
			r.y, width, r.height, r.y+13, html.EscapeString(r.label))
		return
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#333">%s</text><path d="M0,%dH%d" stroke="#eef0f1"/>`+"\n",
		12+12*r.indent, r.y+14, html.EscapeString(r.label), r.y+r.height, width)
	if r.count != nil {
		p.plot(b, r)
	}
	for i, s := range r.slices {
		x0, x1, y := p.x(s.Start), p.x(s.End), r.y+2+rowHeight*r.depth[i]
		p.places[s] = place{x0, x1, float64(y) + rowHeight/2}
		fill, text := colour(s.Name)
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s, %d ns</title></rect>`,
			x0, y, max(x1-x0-0.5, 0.6), rowHeight-1, fill, html.EscapeString(s.Name), s.End-s.Start)
		if name := fit(s.Name, x1-x0-6); name != "" {
			fmt.Fprintf(b, `<text x="%.1f" y="%d" fill="%s">%s</text>`, x0+3, y+12, text, html.EscapeString(name))
		}
		b.WriteByte('\n')
	}
}

// fit cuts a name to a width; what leaves nothing to recognise is left out.
func fit(s string, room float64) string {
	n := int(room / 6.1)
	switch r := []rune(s); {
	case len(r) <= n:
		return s
	case n >= 4:
		return string(r[:n-1]) + "…"
	}
	return ""
}

var numbers = regexp.MustCompile(` ?[0-9]+`)

// colour is by name without its numbers, as in the UI.
func colour(name string) (fill, text string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(numbers.ReplaceAllString(name, "")))
	n := h.Sum32()
	light := 38 + n>>16%3*8
	text = "#fff"
	if light > 50 {
		text = "#111"
	}
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", n%360, 45+n>>8%3*10, light), text
}

// plot draws a counter as an area of steps.
func (p *picture) plot(b *bytes.Buffer, r *row) {
	most := 0.0
	for _, s := range r.count.Samples {
		if s.Time <= p.to {
			if s.Time <= p.from {
				most = 0 // of what is seen
			}
			most = max(most, s.Value)
		}
	}
	if most == 0 {
		return
	}
	bottom, scale := float64(r.y+r.height-2), float64(plotHeight-6)/most
	fmt.Fprintf(b, `<path fill="#8fa9d8" stroke="#4a68a8" stroke-width="0.7" d="M%d,%.0f`, labels, bottom)
	for _, s := range r.count.Samples {
		if s.Time > p.to {
			break
		}
		if s.Time > p.from {
			fmt.Fprintf(b, "H%.1f", p.x(s.Time))
		}
		fmt.Fprintf(b, "V%.1f", bottom-s.Value*scale)
	}
	fmt.Fprintf(b, `H%dV%.0fz"/><text x="%d" y="%d" fill="#333" font-size="9">%.4g%s</text>`+"\n", width, bottom, labels+2, r.y+9, most, html.EscapeString(r.count.Unit))
}

// arrows draws one chain: that of the longest job of the name asked for of
// which all is seen.
func (p *picture) arrows(b *bytes.Buffer, rep *check.Report) {
	ends := map[uint64][]*check.Slice{}
	for _, s := range rep.Slices {
		for _, f := range s.Flows {
			ends[f] = append(ends[f], s)
		}
	}
	var best [][2]*check.Slice
	var length int64
	for _, s := range rep.Slices {
		if s.Category != "job.running" || !strings.HasPrefix(s.Name, p.job) || s.End-s.Start <= length {
			continue
		}
		if c := p.chain(s, ends); len(c) > len(best) || len(c) == len(best) && len(c) > 0 {
			best, length = c, s.End-s.Start
		}
	}
	for _, a := range best {
		from, to := p.places[a[0]], p.places[a[1]]
		x0, x1 := from.x1, to.x0
		if a[1].Start <= a[0].End {
			x0 = max(from.x0, min(x1, from.x1)) // it leaves from within
		}
		bend := max(14, (x1-x0)/2)
		fmt.Fprintf(b, `<path d="M%.1f,%.1fC%.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="none" stroke="#c0392b" stroke-width="1.8" marker-end="url(#tip)"/>`+"\n",
			x0, from.y, x0+bend, from.y, x1-bend, to.y, x1, to.y)
	}
}

// chain follows the arrows from a slice to both sides, if all of it is drawn.
func (p *picture) chain(s *check.Slice, ends map[uint64][]*check.Slice) (list [][2]*check.Slice) {
	todo, seen := []*check.Slice{s}, map[*check.Slice]bool{s: true}
	for len(todo) > 0 {
		s, todo = todo[0], todo[1:]
		if _, ok := p.places[s]; !ok || s.Start < p.from || s.End > p.to {
			return nil
		}
		for _, f := range s.Flows {
			e := ends[f]
			if e[0] == s {
				list = append(list, [2]*check.Slice{e[0], e[1]})
			}
			for _, o := range e {
				if !seen[o] {
					seen[o] = true
					todo = append(todo, o)
				}
			}
		}
	}
	return list
}
