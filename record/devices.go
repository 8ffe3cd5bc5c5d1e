package record

// Device is a GPU of this machine.
type Device struct {
	PCI     string `json:"pci"` // its identity: PCI address, else the name of its device node
	Name    string `json:"name,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Version string `json:"version,omitempty"` // of the driver
	Args    string `json:"args,omitempty"`    // further facts, a JSON object
}
