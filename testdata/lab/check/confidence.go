package check

import (
	"fmt"
	"slices"

	"github.com/gpurec/gpurec/correlate"
)

// confidences holds every link of a log that lost nothing to what
// docs/correlation.md (BPF and ftrace) lists: what one of the two can only tell
// by order the other may know by a key.
func confidences(p *product) (problems []string) {
	seen := map[string]bool{}
	for _, l := range p.rows.Links {
		want := p.confidence(l.Rule)
		if want == nil {
			continue
		}
		said := fmt.Sprintf("%s: link %s is %s, not one of %v", p.what, l.Rule, l.Confidence, want)
		if !slices.Contains(want, correlate.Confidence(l.Confidence)) && !seen[said] {
			seen[said] = true
			problems = append(problems, said)
		}
	}
	return problems
}

func (p *product) confidence(rule string) []correlate.Confidence {
	legacy := p.origin == originLegacy
	switch rule {
	case correlate.RuleAPIIoctl, correlate.RuleAPIJob, correlate.RuleIoctlJob, correlate.RuleIoctlWait:
		return []correlate.Confidence{correlate.Nested}
	case correlate.RuleJobScheduled, correlate.RuleJobWake:
		return []correlate.Confidence{correlate.Adjacent}
	case correlate.RuleJobFence:
		if legacy && !p.bpf { // exact where a dependency names address and key
			return []correlate.Confidence{correlate.Adjacent, correlate.Exact}
		}
	case correlate.RuleJobHWFence:
		if !p.bpf {
			return []correlate.Confidence{correlate.Adjacent}
		}
	case correlate.RuleResetJob:
		return []correlate.Confidence{correlate.Adjacent, correlate.Inferred}
	case correlate.RuleJobRun, correlate.RuleJobDone, correlate.RuleJobDep, correlate.RuleFenceWait:
	default:
		return nil // the same for both
	}
	return []correlate.Confidence{correlate.Exact}
}
