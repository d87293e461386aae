//go:build !unix

package wsconn

// canTry: a socket is no file here.
const canTry = false

func (*attempt) do(uintptr) bool { return true }
