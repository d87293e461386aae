package hub_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley.internal/internal/hub/config"
	"parley.internal/protocol/rest"
)

func clusterOf(t *testing.T, r *rig) rest.Cluster {
	t.Helper()
	got := r.do(ask{method: "GET", path: "/api/cluster", token: r.owner})
	var c rest.Cluster
	if err := json.Unmarshal(got.body, &c); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s; want no error, got.status to be %v", got.status, got.body, http.StatusOK)
	}
	return c
}

func TestALoneHubSaysSoAndWhatItHolds(t *testing.T) {
	r := newRig(t)
	c := clusterOf(t, r)
	if !c.Alone || c.Database.Kind != "sqlite" || !c.Database.OK || c.Bus.Kind != "local" || !c.Bus.OK || c.Door.TLS != "none" || c.Door.Verdict != "good" {
		t.Errorf("%+v", c)
	}
	if len(c.Hubs) != 1 || !c.Hubs[0].Here || !c.Hubs[0].Alive {
		t.Fatalf("%+v; want len(c.Hubs) to be 1, c.Hubs[0].Here, c.Hubs[0].Alive", c.Hubs)
	}
	for _, kind := range []string{"conversations", "tasks", "rooms", "machines", "duties"} {
		if _, told := c.Hubs[0].Holds[kind]; !told {
			t.Errorf("nothing about %s: %v", kind, c.Hubs[0].Holds)
		}
	}
	if got := r.do(ask{method: "GET", path: "/api/cluster"}); got.status != http.StatusUnauthorized {
		t.Errorf("a stranger got %d", got.status)
	}
}

func TestTheDoorTellsItsCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "hub.example", time.Now().Add(5*24*time.Hour))
	r := newRig(t, func(c *config.Config) { c.TLS = config.TLS{Cert: cert, Key: key} })
	d := clusterOf(t, r).Door
	if d.TLS != "files" || d.Verdict != "note" || d.Advice == "" || d.Certificate == nil || len(d.Certificate.Names) != 1 || d.Certificate.Names[0] != "hub.example" {
		t.Errorf("%+v %+v", d, d.Certificate)
	}
}

func TestSpendListsEveryAgent(t *testing.T) {
	r := newRig(t)
	got := r.do(ask{method: "GET", path: "/api/spend", token: r.owner})
	var list struct {
		Agents []rest.AgentSpend `json:"agents"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil || got.status != http.StatusOK || len(list.Agents) == 0 {
		t.Fatalf("%d %s; want no error, got.status to be %v, len(list.Agents) not to be 0", got.status, got.body, http.StatusOK)
	}
}

func selfSigned(t *testing.T, dir, name string, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, body []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("hub.crt", "CERTIFICATE", der), write("hub.key", "PRIVATE KEY", secret)
}
