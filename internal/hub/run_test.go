package hub_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// running starts a hub on a port of its own and stops it with the test.
func running(t *testing.T, flags map[string]string) (hub.Ready, config.Config) {
	t.Helper()
	ready, conf, _ := runningUntil(t, flags)
	return ready, conf
}

// runningUntil is running for tests that stop the hub themselves.
func runningUntil(t *testing.T, flags map[string]string) (hub.Ready, config.Config, func()) {
	t.Helper()
	given := map[string]string{"listen": "127.0.0.1:0", "shutdown-grace": "5s"}
	maps.Copy(given, flags)
	conf, err := config.Load(config.Sources{Data: filepath.Join(t.TempDir(), "d"), Flags: given})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Open(t.Context(), conf, hub.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan hub.Ready, 1), make(chan error, 1)
	go func() { done <- h.Run(ctx, func(r hub.Ready) error { ready <- r; return nil }) }()
	end := sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the hub stopped with %v", err)
		}
		h.Close()
	})
	t.Cleanup(end)
	select {
	case r := <-ready:
		return r, conf, end
	case err := <-done:
		done <- nil
		t.Fatalf("the hub did not start: %v", err)
		return hub.Ready{}, conf, end
	}
}

func TestAStoppingHubAnswersPollsAndHangsUp(t *testing.T) {
	ready, _, stop := runningUntil(t, map[string]string{"shutdown-grace": "1m"})
	dial := func(path string) *bufio.Reader {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(ready.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(conn)
	}
	idle := dial("/place/v1/relay/receive?agent_id=ada&wait=1")
	if status, err := hears(idle); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	// An agent has four polls at most: once one of five is refused, four wait.
	answers := make(chan int, 5)
	for range 5 {
		in := dial("/place/v1/relay/receive?agent_id=bob&wait=60")
		go func() {
			status, err := hears(in)
			if err == nil && status == http.StatusOK {
				_, err = in.ReadByte()
			}
			if status == http.StatusOK && !errors.Is(err, io.EOF) {
				t.Errorf("after the answer: %v", err)
			}
			answers <- status
		}()
	}
	if status := <-answers; status != http.StatusTooManyRequests {
		t.Fatalf("the fifth poll was answered with %d", status)
	}
	stop()
	for range 4 {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a poll was answered with %d", status)
		}
	}
	if _, err := idle.ReadByte(); err == nil {
		t.Error("an idle connection lives")
	}
}

// hears reads an answer.
func hears(in *bufio.Reader) (status int, err error) {
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}

// certificate makes a self-signed one for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return certFile, keyFile, pool
}

func TestTLSByFiles(t *testing.T) {
	cert, key, pool := certificate(t)
	ready, _ := running(t, map[string]string{"tls-cert": cert, "tls-key": key})
	if !strings.HasPrefix(ready.URL, "https://127.0.0.1:") {
		t.Fatalf("the hub says it is at %s", ready.URL)
	}
	get := func(conf *tls.Config) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
		res, err := client.Get(ready.URL + "/healthz")
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	if status, err := get(&tls.Config{RootCAs: pool}); err != nil || status != http.StatusOK {
		t.Errorf("%d, %v; want no error, %v", status, err, http.StatusOK)
	}
	if _, err := get(&tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("an outdated TLS was accepted")
	}
	if status, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(strings.Replace(ready.URL, "https", "http", 1) + "/api/session"); err == nil {
		if status.StatusCode < 400 {
			t.Errorf("plain HTTP was served: %d", status.StatusCode)
		}
		_ = status.Body.Close()
	}
}

func TestRunAnnouncesWhereItIs(t *testing.T) {
	ready, conf := running(t, nil)
	folder := hub.Folder(conf.Data)
	note, err := folder.Running()
	if err != nil || note.URL != ready.URL || !ready.FirstStart || strings.HasSuffix(ready.URL, ":0") {
		t.Errorf("%+v %+v %v; want no error, note.URL to be %v, ready.FirstStart, not strings.HasSuffix(ready.URL, \":0\")", note, ready, err, ready.URL)
	}
	info, err := os.Stat(folder.Path("parley.sock"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v %v; want no error, info.Mode().Perm() to be 0o600, info.Mode().Type() to be %v", info, err, os.ModeSocket)
	}
}

func TestTalkOverTCPWritesItsPort(t *testing.T) {
	_, conf := running(t, map[string]string{"talk-tcp": "127.0.0.1:0"})
	port, err := os.ReadFile(hub.Folder(conf.Data).Path("parley.talk.port"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestHubsOnOneDatabaseShareOneKey(t *testing.T) {
	db, nats := pgtest.URL(t), natstest.Cluster(t, 1)[0].URL()
	open := func(data string) (*hub.Hub, error) {
		conf, err := config.Load(config.Sources{Data: data, Flags: map[string]string{"db": db, "nats": nats}})
		if err != nil {
			t.Fatal(err)
		}
		return hub.Open(t.Context(), conf, hub.Options{})
	}
	first, err := open(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := open(filepath.Join(t.TempDir(), "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if first.PublicKey() != second.PublicKey() {
		t.Error("two hubs of one cluster have different keys")
	}
	// One that has lived elsewhere has a key of its own.
	data := filepath.Join(t.TempDir(), "c")
	conf, err := config.Load(config.Sources{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := hub.Open(t.Context(), conf, hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alone.Close()
	if stranger, err := open(data); err == nil || !strings.Contains(err.Error(), "key is not the one") {
		if stranger != nil {
			stranger.Close()
		}
		t.Errorf("a hub with another key: %v", err)
	}
}
