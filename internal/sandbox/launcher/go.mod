// A module of its own for its name's sake: Go initialises packages in the order of their
// paths, and this one must come before all others of the program. See doc.go.
module box.local/launcher

go 1.26
