package picture

// The links that slices show: their predecessors, by name.
func apiLink(_ *model, l *linkEnd) (Arg, bool)   { return argAPI, l.table == tabAPI }
func ioctlLink(_ *model, l *linkEnd) (Arg, bool) { return argIoctl, l.table == tabIoctl }
func waitLink(_ *model, l *linkEnd) (Arg, bool)  { return argJob, l.table == tabJob }
func resetLink(_ *model, _ *linkEnd) (Arg, bool) { return argReset, true }

// callLink is for an ioctl that shows the job it waits for itself.
func callLink(_ *model, l *linkEnd) (Arg, bool) {
	if l.table == tabJob {
		return argJob, true
	}
	return argAPI, l.table == tabAPI
}

func jobLink(m *model, l *linkEnd) (Arg, bool) {
	if l.table == tabIoctl {
		return argIoctl, true
	}
	switch m.words[l.rule] {
	case ruleJobRun:
		return argRun, true
	case ruleJobDone:
		return argDone, true
	case ruleJobFence:
		return argFence, true
	}
	return 0, false
}

// links writes the dictionary of the links to a row that pick names. Of
// several with one name the first is written.
func (d *drawer) links(list []linkEnd, pick func(*model, *linkEnd) (Arg, bool)) {
	var seen [2]uint64 // by argument
	any := false
	for i := range list {
		l := &list[i]
		a, ok := pick(d.m, l)
		if !ok || seen[a>>6]&(1<<(a&63)) != 0 {
			continue
		}
		if !any {
			any = true
			d.pen.LinksBegin()
		}
		seen[a>>6] |= 1 << (a & 63)
		d.pen.Link(a, d.m.wordOf(l.rule), d.m.wordOf(l.conf))
	}
	if any {
		d.pen.LinksEnd()
	}
}
