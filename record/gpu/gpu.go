// Package gpu holds tables of facts: ioctls, drivers, devices and API functions.
package gpu
