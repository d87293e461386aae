package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/bus/bustest"
	"parley.internal/test/natstest"
)

// works connects two hubs and has one answer the other.
func works(t *testing.T, servers bus.Servers) {
	t.Helper()
	cfg := config()
	cfg.Servers = servers
	var hubs [2]*bus.NATS
	for i := range hubs {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		b, err := bus.ConnectNATS(ctx, cfg)
		if err != nil {
			t.Fatalf("with %+v: %v", servers, err)
		}
		defer b.Close()
		hubs[i] = b
	}
	subscribe(t, hubs[0], "echo", func(m bus.Msg) { _ = m.Respond(nil) })
	bustest.Eventually(t, hubs[1], "echo")
	if err := servers.Probe(t.Context()); err != nil {
		t.Errorf("a probe says %v", err)
	}
}

// refused wants a connection to fail, with words in the error and without secrets in it or in the log.
func refused(t *testing.T, what string, servers bus.Servers, want string, secrets ...string) {
	t.Helper()
	var said string
	// A server on a busy machine may be too late with its reason: it is asked again.
	await(t, fmt.Sprintf("%s: a refusal with %q in it", what, want), func() bool {
		said = refusal(t, what, servers)
		return strings.Contains(said, want)
	})
	for _, s := range append(secrets, "hunter2") {
		if strings.Contains(said, s) {
			t.Errorf("%s: the secret %q is in %q", what, s, said)
		}
	}
}

// refusal is everything that a hub that was not let in says about it.
func refusal(t *testing.T, what string, servers bus.Servers) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var log logBuffer
	cfg := config()
	cfg.Servers, cfg.Log = servers, log.logger()
	b, err := bus.ConnectNATS(ctx, cfg)
	if err == nil {
		_ = b.Close()
		t.Fatalf("%s: a hub was let in", what)
	}
	return fmt.Sprintf("%v %+v %s %v", err, err, log.String(), servers.Probe(t.Context()))
}

func TestNATSWithUserAndPassword(t *testing.T) {
	t.Parallel()
	node := natstest.Run(t, `authorization { user: parley, password: "hunter2/4" }`)
	at := strings.TrimPrefix(node.URL(), "nats://")
	works(t, bus.Servers{URLs: "nats://parley:hunter2%2F4@" + at})
	refused(t, "no password", bus.Servers{URLs: node.URL()}, "uthorization")
	refused(t, "a wrong password", bus.Servers{URLs: "nats://parley:hunter2wrong@" + at}, "uthorization")
	refused(t, "a wrong host", bus.Servers{URLs: "nats://parley:hunter2@127.0.0.1:1"}, "connect")
	refused(t, "a wrong host with a token", bus.Servers{URLs: "nats://hunter2@127.0.0.1:1"}, "connect")
	refused(t, "a password that is not escaped", bus.Servers{URLs: "nats://parley:hunter2/4@" + at}, "NATS server 1", "@"+at)
	refused(t, "a password with a broken escape", bus.Servers{URLs: "nats://ok,nats://parley:hunter2%zz@" + at}, "NATS server 2")
	if hosts := (bus.Servers{URLs: "nats://parley:hunter2@n1:4222, tls://token@n2,n3"}).Hosts(); hosts != "n1:4222, n2, n3" {
		t.Errorf("hosts are shown as %q", hosts)
	}
}

func TestNATSWithACredentialsFile(t *testing.T) {
	t.Parallel()
	operator := natstest.NewOperator(t)
	node := natstest.Run(t, operator.Settings...)
	works(t, bus.Servers{URLs: node.URL(), Credentials: operator.Credentials("parley.>")})
	refused(t, "no credentials", bus.Servers{URLs: node.URL()}, "uthorization")
	refused(t, "credentials of another operator", bus.Servers{URLs: node.URL(), Credentials: natstest.NewOperator(t).Credentials("parley.>")}, "uthorization")
	refused(t, "credentials that are not there", bus.Servers{URLs: node.URL(), Credentials: "/nowhere.creds"}, "/nowhere.creds")
	bad := filepath.Join(t.TempDir(), "bad.creds")
	if err := os.WriteFile(bad, []byte("-----BEGIN NATS USER JWT-----\nhunter2\n------END NATS USER JWT------\nhunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "a file that holds no credentials", bus.Servers{URLs: node.URL(), Credentials: bad}, "no .creds file")
}

func TestNATSWithClientCertificates(t *testing.T) {
	t.Parallel()
	certs, others := natstest.NewCerts(t), natstest.NewCerts(t)
	node := natstest.Run(t, certs.Setting())
	url := strings.Replace(node.URL(), "nats://", "tls://", 1)
	good := bus.Servers{URLs: url, CA: certs.CA, Cert: certs.ClientCert, Key: certs.ClientKey}
	works(t, good)
	plain := good
	plain.URLs = node.URL() // the files alone switch TLS on
	works(t, plain)
	refused(t, "a server of an unknown authority", bus.Servers{URLs: url, Cert: certs.ClientCert, Key: certs.ClientKey}, "certificate")
	refused(t, "no certificate", bus.Servers{URLs: url, CA: certs.CA}, "tls")
	refused(t, "a certificate of another authority", bus.Servers{URLs: url, CA: certs.CA, Cert: others.ClientCert, Key: others.ClientKey}, "tls")
	refused(t, "another one's key", bus.Servers{URLs: url, CA: certs.CA, Cert: certs.ClientCert, Key: others.ClientKey}, certs.ClientCert)
	refused(t, "an authority that is no certificate", bus.Servers{URLs: url, CA: certs.ClientKey}, "no certificate")
	refused(t, "an authority that is not there", bus.Servers{URLs: url, CA: "/nowhere.pem"}, "/nowhere.pem")
}

// The example of docs/operations.md: a user that may use the cluster's subjects and nothing else.
func TestNATSWithSubjectPermissions(t *testing.T) {
	t.Parallel()
	subjects, err := bus.SubjectsOf(secret)
	if err != nil {
		t.Fatal(err)
	}
	node := natstest.Run(t, `authorization { users: [
		{ user: parley, password: hunter2, permissions: { publish: "`+subjects+`", subscribe: "`+subjects+`" } }
		{ user: deaf, password: hunter2, permissions: { publish: "`+subjects+`", subscribe: "other.>" } }
		{ user: mute, password: hunter2, permissions: { publish: "other.>", subscribe: "`+subjects+`" } }
	] }`)
	as := func(user string) bus.Servers {
		return bus.Servers{URLs: strings.Replace(node.URL(), "//", "//"+user+":hunter2@", 1)}
	}
	works(t, as("parley"))
	bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
		return connect(t, as("parley").URLs), connect(t, as("parley").URLs)
	})
	for _, user := range []string{"deaf", "mute"} {
		cfg := config()
		cfg.Servers = as(user)
		b, err := bus.ConnectNATS(t.Context(), cfg)
		if err == nil {
			_ = b.Close()
			t.Errorf("a hub began that is %s", user)
		} else if !strings.Contains(err.Error(), subjects) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a hub that is %s says %q; want the subjects %s it needs", user, err, subjects)
		}
	}
}

// It is not an error, and no line in the log, that the servers do not let a hub look for others.
func TestRestrictedHubsLogNothing(t *testing.T) {
	t.Parallel()
	subjects, err := bus.SubjectsOf(secret)
	if err != nil {
		t.Fatal(err)
	}
	node := natstest.Run(t, `authorization { user: parley, password: hunter2, permissions: { publish: "`+subjects+`", subscribe: "`+subjects+`" } }`)
	var log logBuffer
	cfg := config(strings.Replace(node.URL(), "//", "//parley:hunter2@", 1))
	cfg.Log = log.logger()
	b, err := bus.ConnectNATS(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Request(t.Context(), "nobody", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody there: %v", err)
	}
	if log.String() != "" {
		t.Errorf("the log says\n%s", log.String())
	}
}
