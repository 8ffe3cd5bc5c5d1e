package record

// RunHelper does the work of a session's helper process, and does not return,
// if this process was started as one. Main must call it before all else.
func RunHelper() {}
