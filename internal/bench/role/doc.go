// Package role is this program in processes of its own, so that the memory and the CPU
// time of a server are its alone: how one is started and told what to do, and the servers
// that rows measure, bare ones of the system and ours.
package role
