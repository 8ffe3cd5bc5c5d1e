// Package clock relates clock domains: snapshots, declared bases, conversion.
package clock
