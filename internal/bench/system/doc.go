// Package system is what a benchmark asks of the machine below it: the CPU time and the
// memory of this process, its limits, flushes of the disk, and CPU profiles.
package system
