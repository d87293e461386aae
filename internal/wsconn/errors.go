package wsconn

import "errors"

var (
	// ErrClosed says that the connection is closing or closed.
	ErrClosed = errors.New("wsconn: closed")
	// ErrOverflow says that the peer was too slow: the queue was full and the connection is being cut.
	ErrOverflow = errors.New("wsconn: queue full")
	// ErrBadClose says that a close code may not be sent; the connection was closed with CodeInternal instead.
	ErrBadClose = errors.New("wsconn: bad close code")
	// The texts of those below are what clients read.

	// ErrNotWebSocket says that the request is no valid WebSocket handshake; it has been answered.
	ErrNotWebSocket = errors.New("not a WebSocket handshake")
	// ErrDraining says that the group takes no more connections; the request has been answered 503.
	ErrDraining = errors.New("the hub is about to stop")
	// ErrForeignHost says that the Host header names neither this hub nor a loopback name.
	ErrForeignHost = errors.New("the hub does not go by that name")
	// ErrForeignOrigin says that a page of another site made the request.
	ErrForeignOrigin = errors.New("a page of another origin may not use the hub")
)
