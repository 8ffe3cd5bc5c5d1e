package correlate

// maxTree bounds the whole calls of a thread that wait for a parent.
const maxTree = 64

// maxTreeCalls bounds the calls in them.
const maxTreeCalls = 1 << 12

// callTree holds calls that came whole until it is clear what call they lie
// in: the call around comes after those in it. Each root holds its subtree.
type callTree struct {
	roots []*call
	held  int
	gone  OptTime // start of the last root that was given to stay within a cap
}

// add takes a call, adopts the roots that lie in it, and gives the oldest root
// when too many wait.
func (h *callTree) add(x *apiTracker, c *call, t *thread) {
	if x.held >= x.e.caps.Calls {
		x.e.ids.calm()
	}
	x.e.ids.remember(t)
	i := len(h.roots)
	for i > 0 && h.roots[i-1].row.StartNS.V >= c.row.StartNS.V {
		i--
	}
	if i < len(h.roots) {
		c.children = append(c.children, h.roots[i:]...)
		clear(h.roots[i:])
		h.roots = h.roots[:i]
		for _, k := range c.children {
			if k.spec.launches() {
				c.launches++
			}
		}
	}
	h.roots = append(h.roots, c)
	h.held++
	x.held++
	if len(h.roots) > maxTree || h.held > min(maxTreeCalls, x.e.caps.Calls/4) {
		h.gone = h.roots[0].row.StartNS
		h.give(x, h.roots[0], 0, 0, t)
		h.roots = append(h.roots[:0], h.roots[1:]...)
	}
}

func (h *callTree) give(x *apiTracker, c *call, parent ID, depth int64, t *thread) {
	c.row.ParentID, c.row.Depth = parent, depth
	for _, k := range c.children {
		c.innerNS += int64(k.row.EndNS.V - k.row.StartNS.V)
		h.give(x, k, c.row.ID, depth+1, t)
	}
	for _, o := range c.twins {
		o.row.ParentID, o.row.Depth = parent, depth
		x.give(o, t)
	}
	x.give(c, t)
	h.held--
	x.held--
}

func (h *callTree) flush(x *apiTracker, t *thread) {
	for _, c := range h.roots {
		h.give(x, c, 0, 0, t)
	}
	h.roots = nil
}

// cut is flush where a call around may still come: it is to be noticed then.
func (h *callTree) cut(e *engine, t *thread) {
	if n := len(h.roots); n > 0 {
		h.gone = h.roots[n-1].row.StartNS
	}
	h.flush(&e.api, t)
}
