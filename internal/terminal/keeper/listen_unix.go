//go:build unix

package keeper

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"parley.internal/internal/localsocket"
)

// visitor is a hub that has said who it is.
type visitor struct {
	conn *net.UnixConn
	in   chan message
	out  chan message
	gone chan struct{} // closed when it has
	left chan struct{} // closed when nobody listens to it any more
}

// admit lets whoever connects say hello, and hands hubs to the keeper.
func (k *keeper) admit(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the keeper ends
		}
		conn, ok := c.(*net.UnixConn)
		if !ok {
			_ = c.Close()
			continue
		}
		select {
		case k.door <- struct{}{}:
			go func() {
				defer func() { <-k.door }()
				k.greet(conn)
			}()
		default:
			_ = c.Close() // so many at once are no hub
		}
	}
}

// greet decides about one.
func (k *keeper) greet(conn *net.UnixConn) {
	m, err := k.shake(conn)
	if err != nil {
		_ = write(conn, message{Kind: refused, Version: Version, Why: err.Error()})
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if m.Network {
		if k.exit != nil {
			k.exit.give(conn)
		}
		_ = conn.Close()
		return
	}
	v := &visitor{conn: conn, in: make(chan message), out: make(chan message), gone: make(chan struct{}), left: make(chan struct{})}
	select {
	case k.arrived <- v:
	case <-k.over:
		_ = conn.Close()
	}
}

// shake reads hello from whoever is this user and knows the secret.
func (k *keeper) shake(conn *net.UnixConn) (message, error) {
	if err := conn.SetDeadline(time.Now().Add(shakeTime)); err != nil {
		return message{}, err
	}
	if err := sameUser(conn); err != nil {
		return message{}, err
	}
	m, err := read(conn, maxHello)
	switch {
	case err != nil:
		return m, err
	case m.Kind != hello || subtle.ConstantTimeCompare([]byte(m.Secret), []byte(k.orders.Secret)) != 1:
		return m, errors.New("this terminal is not yours")
	case m.Version != Version:
		return m, fmt.Errorf("this keeper was started by another version: it speaks %d, the hub %d", Version, m.Version)
	}
	return m, nil
}

// sameUser tells that whoever is at the other end runs as we do.
func sameUser(conn *net.UnixConn) error {
	uid, _, err := localsocket.Peer(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("user %d is not the hub's", uid)
	}
	return err
}

// serve moves messages between a hub and the keeper until either leaves.
func (v *visitor) serve() {
	go func() {
		defer close(v.gone)
		for {
			m, err := read(v.conn, maxBody)
			if err != nil {
				return
			}
			select {
			case v.in <- m:
			case <-v.left:
				return
			}
		}
	}()
	go func() {
		for {
			select {
			case m := <-v.out:
				if write(v.conn, m) != nil {
					_ = v.conn.Close() // the reader tells
					return
				}
			case <-v.gone:
				return
			}
		}
	}()
}
