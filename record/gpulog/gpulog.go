// Package gpulog is the log file: writer, reader, index, ordered reading and repair.
package gpulog
