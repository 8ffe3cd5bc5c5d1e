// Command gpurec records, converts, joins and exports GPU traces.
package main

func main() {}
