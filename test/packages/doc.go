// Package packages is tests of what people install: the script that checks a signature
// first, the units, the packages, and that two builds make the same bytes.
//
// The short form runs with all other tests and takes the small endpoint program. `make
// test-packages` (PARLEY_TEST_PACKAGES=1) builds the hub too, and installs, upgrades and
// removes packages in a copy of this system that is thrown away.
package packages
