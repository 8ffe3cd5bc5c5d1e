package correlate

// maxTree bounds the whole calls of a thread that wait for a parent.
const maxTree = 64

// maxTreeCalls bounds the calls in them.
const maxTreeCalls = 1 << 12

// callTree holds calls that came whole until it is clear what call they lie
// in: the call around comes after those in it. Each root holds its subtree.
type callTree struct {
	roots []*callNode
	held  int
}

type callNode struct {
	c        *call
	children []*callNode
}

// add takes a call, adopts the roots that lie in it, and gives the oldest root
// when too many wait.
func (h *callTree) add(x *apiTracker, c *call, t *thread) {
	n := &callNode{c: c}
	i := len(h.roots)
	for i > 0 && h.roots[i-1].c.row.StartNS.V >= c.row.StartNS.V {
		i--
	}
	if i < len(h.roots) {
		n.children = append(n.children, h.roots[i:]...)
		h.roots = h.roots[:i]
		for _, k := range n.children {
			if k.c.spec.launches() {
				c.children++
			}
		}
	}
	h.roots = append(h.roots, n)
	h.held++
	if len(h.roots) > maxTree || h.held > maxTreeCalls {
		h.give(x, h.roots[0], 0, 0, t)
		h.roots = append(h.roots[:0], h.roots[1:]...)
	}
}

func (h *callTree) give(x *apiTracker, n *callNode, parent ID, depth int64, t *thread) {
	n.c.row.ParentID, n.c.row.Depth = parent, depth
	id := n.c.row.ID
	for _, k := range n.children {
		n.c.innerNS += int64(k.c.row.EndNS.V - k.c.row.StartNS.V)
		h.give(x, k, id, depth+1, t)
	}
	for _, c := range n.c.twins {
		c.row.ParentID, c.row.Depth = parent, depth
		x.give(c, t)
	}
	x.give(n.c, t)
	h.held--
}

func (h *callTree) flush(x *apiTracker, t *thread) {
	for _, n := range h.roots {
		h.give(x, n, 0, 0, t)
	}
	h.roots = nil
}
