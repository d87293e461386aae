// Package faults holds the tests that break things under a running hub: kill -9, a full disk, a database or a
// bus that goes away, a folder that cannot be written, clients that mean harm. Each drives the real program from
// outside and tells one story: what was acknowledged is kept, what fails says why, and it works again by itself.
package faults
