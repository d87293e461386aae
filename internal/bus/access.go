package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Servers says where the NATS servers are and how to be let in.
type Servers struct {
	// URLs are the servers, nats://host:port (tls:// for TLS), separated by commas. Each may
	// have a user and a password, which no error and no log line repeats.
	URLs string
	// Credentials is the path of a .creds file, if the servers ask for one.
	Credentials string
	// CA, Cert and Key are paths of PEM files: the authority of the servers, and the
	// certificate they ask for. Any of them switches TLS on. The files are read
	// again for every connection, so that they can be renewed.
	CA, Cert, Key string
}

var errAddress = errors.New("not nats://HOST or tls://HOST; special characters of a password are written as %XX")

// addresses takes the URLs apart. Its errors name a server by its place: a URL that
// cannot be read may have its password anywhere.
func (s Servers) addresses() ([]*url.URL, error) {
	var all []*url.URL
	for i, text := range strings.Split(s.URLs, ",") {
		text = strings.TrimSpace(text)
		if i > 0 && text != "" && !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" ||
			strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("NATS server %d: %w", i+1, errAddress)
		}
		all = append(all, u)
	}
	return all, nil
}

// Hosts names the servers for people, without names and passwords.
func (s Servers) Hosts() string {
	all, err := s.addresses()
	if err != nil {
		return err.Error()
	}
	hosts := make([]string, len(all))
	for i, u := range all {
		hosts[i] = u.Host
	}
	return strings.Join(hosts, ", ")
}

// Check says what is wrong with the addresses; the files are looked at when they are needed.
func (s Servers) Check() error {
	_, err := s.addresses()
	return err
}

// Probe connects once and says what came of it.
func (s Servers) Probe(ctx context.Context) error {
	opts, err := s.options()
	if err != nil {
		return err
	}
	patience := 5 * time.Second
	if until, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(until))
	}
	nc, err := nats.Connect(s.list(), append(opts, nats.Timeout(patience))...)
	if err != nil {
		return s.redact(err)
	}
	nc.Close()
	return nil
}

// list is the URLs as the library wants them; addresses has checked them.
func (s Servers) list() string { return strings.ReplaceAll(s.URLs, " ", "") }

// options are what the library needs to be let in.
func (s Servers) options() ([]nats.Option, error) {
	if _, err := s.addresses(); err != nil {
		return nil, err
	}
	var opts []nats.Option
	if s.Credentials != "" {
		if err := checkCredentials(s.Credentials); err != nil {
			return nil, err
		}
		opts = append(opts, nats.UserCredentials(s.Credentials))
	}
	var try nats.Options
	if s.CA != "" {
		ca := nats.RootCAs(s.CA)
		if err := ca(&try); err != nil {
			return nil, fmt.Errorf("the authority of the NATS servers, %s: %w", s.CA, plainly(err))
		}
		opts = append(opts, ca)
	}
	if s.Cert != "" || s.Key != "" {
		pair := nats.ClientCert(s.Cert, s.Key)
		if err := pair(&try); err != nil {
			return nil, fmt.Errorf("the certificate for the NATS servers, %s with key %s: %w", s.Cert, s.Key, plainly(err))
		}
		opts = append(opts, pair)
	}
	return opts, nil
}

// checkCredentials looks whether a .creds file has what a connection will need. The
// library's own errors may quote the file, which is secret.
func checkCredentials(path string) error {
	if _, err := os.ReadFile(path); err != nil {
		return fmt.Errorf("the credentials for the NATS servers: %w", err)
	}
	var try nats.Options
	if err := nats.UserCredentials(path)(&try); err != nil {
		return fmt.Errorf("the credentials for the NATS servers, %s, cannot be used", path)
	}
	token, err := try.UserJWT()
	if err == nil && token != "" {
		_, err = try.SignatureCB([]byte("a nonce"))
	}
	if err != nil || token == "" {
		return fmt.Errorf("the credentials for the NATS servers, %s, are no .creds file with a user's token and seed", path)
	}
	return nil
}

// plainly takes the library's name for itself off an error.
func plainly(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return errors.New("it holds no certificate")
}

// redacted is an error whose text holds no password.
type redacted struct {
	error
	text string
}

func (e redacted) Error() string { return e.text }
func (e redacted) Unwrap() error { return e.error }

// redact takes names and passwords out of an error of the library, which was not
// made to keep them.
func (s Servers) redact(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	all, _ := s.addresses()
	for _, u := range all {
		if u.User == nil {
			continue
		}
		password, has := u.User.Password()
		secret := password
		if !has {
			secret = u.User.Username() // alone it is a token
		}
		for _, hide := range []string{u.User.String(), secret, url.QueryEscape(secret)} {
			if hide != "" {
				text = strings.ReplaceAll(text, hide, "…")
			}
		}
	}
	return redacted{err, cmp.Or(text, "…")}
}
