package picture

import (
	"strconv"
	"strings"
)

// errnoNames are the numbers of Linux that a job or call can end with; they
// are the same on all architectures that have GPU drivers worth tracing.
var errnoNames = map[int64]string{
	1: "EPERM", 2: "ENOENT", 3: "ESRCH", 4: "EINTR", 5: "EIO", 6: "ENXIO", 9: "EBADF", 11: "EAGAIN",
	12: "ENOMEM", 13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 22: "EINVAL",
	25: "ENOTTY", 28: "ENOSPC", 34: "ERANGE", 35: "EDEADLK", 61: "ENODATA", 62: "ETIME", 71: "EPROTO",
	75: "EOVERFLOW", 95: "EOPNOTSUPP", 103: "ECONNABORTED", 110: "ETIMEDOUT", 121: "EREMOTEIO",
	125: "ECANCELED", 133: "EHWPOISON", 512: "ERESTARTSYS",
}

// errorName names a negative (or positive) errno.
func errorName(e int64) string {
	if e < 0 {
		e = -e
	}
	if n, ok := errnoNames[e]; ok {
		return n
	}
	return "errno " + strconv.FormatInt(e, 10)
}

// kernelThread reports whether a thread's name is one that only threads of
// the kernel bear.
func kernelThread(comm string) bool {
	switch comm {
	case "kthreadd", "rcu_sched", "rcu_preempt", "rcu_gp", "kcompactd0", "khugepaged", "khungtaskd", "kauditd", "oom_reaper", "kdevtmpfs":
		return true
	}
	for _, p := range kernelPrefixes {
		if strings.HasPrefix(comm, p) {
			return true
		}
	}
	return false
}

var kernelPrefixes = []string{
	"kworker/", "ksoftirqd/", "migration/", "cpuhp/", "rcu_", "rcuop/", "rcuos/", "kcompactd", "kswapd",
	"irq/", "idle_inject/", "watchdog/", "scsi_eh_", "jbd2/", "card0-", "nvidia-",
}

// AppendPair appends a fence: "context:seqno".
func AppendPair(b []byte, context, seqno uint64) []byte {
	b = strconv.AppendUint(b, context, 10)
	b = append(b, ':')
	return strconv.AppendUint(b, seqno, 10)
}
