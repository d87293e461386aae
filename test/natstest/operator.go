package natstest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Operator is a server in operator mode: who may come is in signed tokens.
type Operator struct {
	// Settings are for Run.
	Settings []string
	account  nkeys.KeyPair
	t        testing.TB
}

// NewOperator makes an operator with one account.
func NewOperator(t testing.TB) *Operator {
	t.Helper()
	o := &Operator{t: t}
	boss := o.pair(nkeys.CreateOperator)
	o.account = o.pair(nkeys.CreateAccount)
	claims := jwt.NewOperatorClaims(o.public(boss))
	operatorToken := o.token(claims.Encode(boss))
	account := jwt.NewAccountClaims(o.public(o.account))
	o.Settings = []string{
		"operator: " + operatorToken,
		"resolver: MEMORY",
		"resolver_preload: { " + o.public(o.account) + ": " + o.token(account.Encode(boss)) + " }",
	}
	return o
}

// Credentials writes the .creds file of a new user who may use these subjects.
func (o *Operator) Credentials(subjects ...string) (path string) {
	o.t.Helper()
	user := o.pair(nkeys.CreateUser)
	claims := jwt.NewUserClaims(o.public(user))
	claims.Pub.Allow.Add(subjects...)
	claims.Sub.Allow.Add(subjects...)
	seed, err := user.Seed()
	if err != nil {
		o.t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(o.token(claims.Encode(o.account)), seed)
	if err != nil {
		o.t.Fatal(err)
	}
	path = filepath.Join(o.t.TempDir(), "hub.creds")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

func (o *Operator) pair(create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	o.t.Helper()
	p, err := create()
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

func (o *Operator) public(p nkeys.KeyPair) string {
	o.t.Helper()
	key, err := p.PublicKey()
	if err != nil {
		o.t.Fatal(err)
	}
	return key
}

func (o *Operator) token(token string, err error) string {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	return token
}
