// Package localsocket is what Unix sockets between our own processes have in common: who is
// at the other end, as the kernel says; paths that are longer than a socket's may be; and open
// sockets that one process hands to another.
//
//	conn, err := localsocket.Dial(folder, "control.sock")
//	uid, pid, err := localsocket.Peer(conn)
package localsocket
