// Package box tests, on a whole hub, that programs of agents reach nothing of the hub:
// not with a token that may only submit tasks, and not with a person's yes.
package box
