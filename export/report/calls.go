package report

import (
	"cmp"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

type apiKey struct{ api, name string }

type apiAcc struct {
	API
	time *dist
}

type blockKey struct {
	process   correlate.ID
	tid       correlate.OptInt
	api, name string
}

// slowEnqueueNS is from when on a call that should only enqueue is slow.
const slowEnqueueNS = 1_000_000

func (b *Builder) addAPI(c *correlate.APICall) {
	b.see(c.StartNS)
	b.see(c.EndNS)
	k := apiKey{c.API, c.BaseName}
	a := get(&b.rep.Capped, b.api, k, apiKey{}, func(k apiKey) *apiAcc {
		a := &apiAcc{API: API{API: k.api, Name: k.name}, time: b.dists.get()}
		if k != (apiKey{}) { // else it is of many
			a.Class, a.Blocking = c.Class, ptr(c.Blocking)
		}
		return a
	})
	a.Calls++
	if failed(c) {
		a.Failed++
		b.failedCall(c)
	}
	if !returned(c) {
		a.Open++
	}
	a.time.addOpt(c.DurNS, row{c.ID, c.StartNS, c.EndNS})
	if c.SelfNS.OK {
		a.SelfNS += c.SelfNS.V
	}
	b.threadTime(c)
	if c.Class == "alloc" || c.Class == "free" {
		b.memory.addCall(c)
	}
	b.enqueue(c)
}

// returned reports whether nothing is amiss with a call's end.
func returned(c *correlate.APICall) bool { return c.EndKind == "returned" || c.EndKind == "not_probed" }

// failed reports a result that is an error. CUDA_ERROR_NOT_READY,
// cudaErrorNotReady and hipErrorNotReady are 600 and say "not yet".
func failed(c *correlate.APICall) bool { return c.Result.OK && c.Result.V != 0 && c.Result.V != 600 }

func (b *Builder) failedCall(c *correlate.APICall) {
	s := &b.seen
	if s.failedCalls++; s.failedCalls == 1 || c.ID < s.firstFailed.id {
		s.firstFailed = row{c.ID, c.StartNS, c.EndNS}
		s.firstFailedName, s.firstFailedResult, s.firstFailedProc = c.Name, c.Result.V, c.ProcessID
	}
}

// threadTime sums time by process and, of calls that wait, by thread.
func (b *Builder) threadTime(c *correlate.APICall) {
	p := get(&b.rep.Capped, b.apiProcs, c.ProcessID, 0, func(correlate.ID) *APIProcess { return &APIProcess{} })
	p.Calls++
	if c.SelfNS.OK {
		p.SelfNS += c.SelfNS.V
		if c.Blocking.V {
			p.BlockingNS += c.SelfNS.V
		}
	}
	if !c.Blocking.V || c.ParentID != 0 {
		return
	}
	k := blockKey{c.ProcessID, c.TID, c.API, c.BaseName}
	t := get(&b.rep.Capped, b.blocking, k, blockKey{}, func(k blockKey) *BlockingThread {
		return &BlockingThread{TID: ptr(k.tid), API: k.api, Name: k.name, maxNS: -1}
	})
	t.Calls++
	if c.DurNS.OK && c.DurNS.V >= 0 {
		t.SumNS += c.DurNS.V
		if c.DurNS.V > t.maxNS {
			t.maxNS, t.longest = c.DurNS.V, row{c.ID, c.StartNS, c.EndNS}
		}
	}
}

// enqueue notes the outermost calls that put work on a device.
func (b *Builder) enqueue(c *correlate.APICall) {
	s := &b.seen
	switch c.Class {
	case "launch", "graph_launch", "memcpy", "memset", "collective", "submit":
	default:
		return
	}
	if c.ParentID != 0 {
		return
	}
	s.enqueues++
	if c.StartNS.OK {
		b.submitted(submitKey{by: byCalls, process: c.ProcessID}, int64(c.StartNS.V))
	}
	if c.API != "" {
		s.apiFamilies[c.API] = true
	}
	if c.Blocking.V || !c.DurNS.OK || c.DurNS.V < slowEnqueueNS {
		return
	}
	s.slowEnqueues++
	s.slowEnqueueNS += c.DurNS.V
	if c.DurNS.V > s.longestEnqueue {
		s.longestEnqueue, s.longestEnqueueRow = c.DurNS.V, row{c.ID, c.StartNS, c.EndNS}
		s.longestEnqueueName, s.longestEnqueueProc = c.Name, c.ProcessID
	}
}

func (b *Builder) endCalls() {
	r := &b.rep
	for _, a := range b.api {
		a.Time = a.time.stats()
		r.API = append(r.API, a.API)
	}
	slices.SortFunc(r.API, func(x, y API) int {
		return cmp.Or(cmp.Compare(y.Time.SumNS, x.Time.SumNS), cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Name, y.Name), cmp.Compare(x.API, y.API))
	})
	for k, p := range b.apiProcs {
		p.ProcessID, p.PID, p.Process = b.process(k)
		r.APIProcesses = append(r.APIProcesses, *p)
	}
	slices.SortFunc(r.APIProcesses, func(x, y APIProcess) int {
		return cmp.Or(cmp.Compare(y.SelfNS, x.SelfNS), cmp.Compare(id(x.ProcessID), id(y.ProcessID)))
	})
	for k, t := range b.blocking {
		t.ProcessID, t.PID, t.Process = b.process(k.process)
		t.Share = ratio(t.SumNS, r.span())
		r.Blocking = append(r.Blocking, *t)
	}
	slices.SortFunc(r.Blocking, func(x, y BlockingThread) int {
		return cmp.Or(cmp.Compare(y.SumNS, x.SumNS), cmp.Compare(id(x.ProcessID), id(y.ProcessID)),
			cmp.Compare(id(x.TID), id(y.TID)), cmp.Compare(x.Name, y.Name), cmp.Compare(x.API, y.API))
	})
}
