// Package board tests tasks and terminals from outside, with the real program:
// over a network that breaks, through a hub that is killed, and from the command
// line in a real terminal.
package board
