package hub

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// Ready is what a hub tells once it serves.
type Ready struct {
	URL        string
	FirstStart bool
}

// Run serves until ctx ends, then drains. ready is called once the listener is
// open.
func (h *Hub) Run(ctx context.Context, ready func(Ready) error) error {
	secure, stopTLS, err := tlsConfig(ctx, h.conf)
	if err != nil {
		return err
	}
	defer stopTLS()
	l, err := listen(ctx, h.conf, secure)
	if err != nil {
		return err
	}
	h.conf.Listen = actual(h.conf.Listen, l.Addr())
	if err := h.passkeys.Bind(h.relyingParty()); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := h.eachPart(func(p part) error { return call(ctx, p.listen) }); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := h.folder.Announce(Running{URL: h.url(), PID: os.Getpid(), HubID: h.leases.ID()}); err != nil {
		return errors.Join(err, l.Close())
	}
	defer h.folder.Withdraw()
	if err := ready(Ready{URL: h.url(), FirstStart: h.firstStart}); err != nil {
		return errors.Join(err, l.Close())
	}
	h.backUpNightly()
	h.logger.Info("the hub is ready", "url", h.url(), "database", h.db.String(), "version", h.opts.Version)
	return h.serve(ctx, l)
}

// idleTime is how long a client may keep a connection without asking anything.
const idleTime = 2 * time.Minute

// errCutOff ends the process, so that its supervisor starts it again: whatever it owned is
// with the others then, and it comes back once it reaches the bus.
var errCutOff = errors.New("the NATS servers cannot be reached, although other hubs reach them: this hub has handed over what it had")

// serve runs the listener until ctx ends.
func (h *Hub) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: h.handler,
		// A client that dribbles its headers, or leaves, must not hold a connection.
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(h.logger.Handler(), slog.LevelDebug),
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, from := range []net.Listener{l, h.parking.Listener()} {
		group.Go(func() error {
			if err := server.Serve(from); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-h.leases.CutOff():
			return errCutOff
		}
	})
	group.Go(func() error {
		<-ctx.Done()
		h.drain(server)
		return nil
	})
	return group.Wait()
}

// drain lets what runs finish. /readyz says no at once, so that balancers send people
// elsewhere before anybody is refused; then nobody new is let in, and the listener closes
// when nothing runs any more.
func (h *Hub) drain(server *http.Server) {
	if h.conf.ShutdownNotice > 0 {
		h.draining.Store(true)
		time.Sleep(h.conf.ShutdownNotice)
	}
	h.gate.close()
	h.beginStop()
	h.logger.Info("the hub is stopping", "grace", h.conf.ShutdownGrace)
	ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
	defer cancel()
	if err := errors.Join(h.drainParts(ctx), h.gate.wait(ctx), h.parking.Close(ctx), server.Shutdown(ctx)); err != nil {
		_ = server.Close()
	}
}

// actual replaces a port of 0 by the one the system gave.
func actual(asked string, got net.Addr) string {
	host, port, err := net.SplitHostPort(asked)
	if err != nil || port != "0" {
		return asked
	}
	_, port, err = net.SplitHostPort(got.String())
	if err != nil {
		return asked
	}
	return net.JoinHostPort(host, port)
}
