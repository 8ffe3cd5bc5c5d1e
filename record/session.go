package record

import (
	"context"
	"errors"
)

// Run records until the command ends, a limit is reached, a signal arrives or
// ctx is done. Main must have called [RunHelper] first.
func Run(ctx context.Context, o Options) (*Result, error) {
	return nil, errors.New("record: not yet")
}
