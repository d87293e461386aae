// Package update hands out endpoint programs and has machines change to another
// version: signed programs in parts, scripts that install one, and roll-outs in waves
// of one, a tenth and the rest, which stop when too many machines of a wave fail.
//
// It knows machines by [Machines] alone; who may start what, and who is asked first, is
// the fleet's.
package update
