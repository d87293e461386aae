package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"parley.internal/internal/hub/config"
)

// listen opens the one listener; secure is nil for a plain one.
func listen(ctx context.Context, c config.Config, secure *tls.Config) (net.Listener, error) {
	plain, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is in use: stop what uses it, or give another --listen", c.Listen)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", c.Listen, err)
	}
	if secure == nil {
		return plain, nil
	}
	return tls.NewListener(plain, secure), nil
}
