// Package foreign shows what becomes of coding agents of others on a real hub, over its real
// wire: with our own small agent (package acpagent), which behaves well and badly, and, with
// make test-foreign, with programs that people run.
package foreign
