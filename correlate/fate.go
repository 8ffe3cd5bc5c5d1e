package correlate

// What a reset did to a job.
const (
	fateGuilty    = "guilty"    // it brought the reset
	fateRerun     = "rerun"     // handed to the hardware again
	fateCancelled = "cancelled" // ended by the reset
)

// setFate notes what a reset did to a job. Guilt stands, and what a source
// tells stands against what is inferred.
func (j *job) setFate(fate, rule string) {
	r := &j.row
	if r.Fate == fateGuilty && r.FateRule == ruleSource || r.FateRule == ruleSource && rule != ruleSource {
		return
	}
	r.Fate, r.FateRule = fate, rule
}
