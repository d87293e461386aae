// Package systems reads the whole module, tests and dependencies included, as the other
// systems that releases are made for would compile it: types are checked from source, and
// the parts that only those systems have are vetted. Nothing is compiled, so that a machine
// with nothing in its cache needs seconds for what `go vet` and a build need minutes for.
package systems
