// Package config gathers a hub's settings: command-line flags over PARLEY_…
// environment variables over parley.yaml in the data folder over defaults.
//
// Every setting is one row of the table in settings.go; its key in the file, its
// variable, its flag and its help come from there, so none of them can be
// forgotten. An unknown key in the file, or a value that does not fit, is one
// clear error that names it.
package config
