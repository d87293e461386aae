package role

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/wsconn"
)

// echoHandler answers every message with itself.
type echoHandler struct{}

func (echoHandler) Message(c *wsconn.Conn, kind wsconn.Kind, data []byte) {
	_ = c.Answer(wsconn.Message{Kind: kind, Data: bytes.Clone(data)})
}

func (echoHandler) Closed(*wsconn.Conn, wsconn.Ended) {}

// WebSocketEcho is an echo over wsconn, the way a face uses it. Arguments: "tls" or
// "plain", and the pause between heartbeats.
func WebSocketEcho(ctx context.Context, args []string) (*Server, error) {
	opts := wsconn.Options{}
	if len(args) > 1 {
		every, err := time.ParseDuration(args[1])
		if err != nil {
			return nil, err
		}
		opts.Ping, opts.Silence = wsconn.Heartbeat{Every: every}, wsconn.Silence{After: time.Hour}
	}
	return wsServer(ctx, opts, slices.Contains(args, "tls"), func(*wsconn.Conn) {})
}

// WebSocketFan sends one message to every connection when told to.
func WebSocketFan(ctx context.Context, _ []string) (*Server, error) {
	var mu sync.Mutex
	var members []*wsconn.Conn
	// Members are as fast as they can be; what is measured is sending, not cutting.
	opts := wsconn.Options{Queue: wsconn.QueueLimit{Frames: 1 << 20, Bytes: 1 << 30}}
	s, err := wsServer(ctx, opts, false, func(c *wsconn.Conn) {
		mu.Lock()
		defer mu.Unlock()
		members = append(members, c)
	})
	if err != nil {
		return nil, err
	}
	s.On = func(string) {
		mu.Lock()
		defer mu.Unlock()
		frame := wsconn.Prepare(wsconn.Text, FanMessage)
		for _, c := range members {
			_ = c.SendFrame(frame)
		}
	}
	return s, nil
}

func wsServer(ctx context.Context, opts wsconn.Options, secure bool, opened func(*wsconn.Conn)) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	first := Hello{Addr: l.Addr().String()}
	if secure {
		cert, text, err := certificate()
		if err != nil {
			return nil, err
		}
		first.Cert = text
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	group := wsconn.NewGroup(opts)
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = group.Upgrade(w, r, func(c *wsconn.Conn) wsconn.Handler {
			opened(c)
			return echoHandler{}
		})
	})}
	var running sync.WaitGroup
	running.Go(func() { _ = web.Serve(l) })
	return &Server{Hello: first, Close: func() {
		_ = web.Close()
		group.Close()
		running.Wait()
	}}, nil
}

// certificate makes one for this run, and its text for those who shall trust it.
func certificate() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
