package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"

	"parley.internal/internal/publicnet"
)

// tunnel joins the program with a host and port, whatever they say to each other.
func (e *Exit) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || port == "" {
		refuse(w, http.StatusBadRequest, "where to? CONNECT takes a host and a port")
		return
	}
	host = plainName(host)
	if err := e.permit(r.Context(), host); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	there, err := e.o.Guard.Dial(r.Context(), "tcp", net.JoinHostPort(host, port))
	if err != nil {
		refuse(w, statusOf(err), "no connection to "+host+": "+err.Error())
		return
	}
	defer func() { _ = there.Close() }()
	if !e.begin() {
		return
	}
	defer e.open.Done()
	here, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "this connection cannot be used for it")
		return
	}
	defer func() { _ = here.Close() }()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	stop := context.AfterFunc(e.ctx, func() { _ = here.Close(); _ = there.Close() })
	defer stop()
	join(here, ahead.Reader, there)
}

// join copies both ways, and passes the end of each way on.
func join(here net.Conn, fromHere io.Reader, there net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(there, fromHere)
		endOf(there)
	}()
	_, _ = io.Copy(here, there)
	endOf(here)
	<-done
}

// endOf says that nothing more will be written.
func endOf(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}

// plain passes requests for http addresses on.
func (e *Exit) plain() http.Handler {
	transport := e.o.Guard.Transport()
	transport.DisableCompression = true // what the program did not ask for it does not get
	transport.DisableKeepAlives = true  // nothing of a program outlives it
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, statusOf(err), err.Error())
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			refuse(w, http.StatusBadRequest, "this is the way out of a box; ask it for http addresses, or CONNECT")
			return
		}
		if err := e.permit(r.Context(), plainName(r.URL.Hostname())); err != nil {
			refuse(w, http.StatusForbidden, err.Error())
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

func statusOf(err error) int {
	if errors.Is(err, publicnet.ErrNotPublic) {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}
