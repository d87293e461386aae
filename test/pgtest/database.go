package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// adminPatience bounds one administrative statement: on a loaded machine creating
// a database can take seconds.
const adminPatience = time.Minute

// URL returns the address of a fresh, empty database, which is dropped when t ends.
func URL(t testing.TB) string {
	t.Helper()
	server, err := sharedServer()
	if err != nil {
		unavailable(t, err)
	}
	return freshDatabase(t, server.adminURL, "template0")
}

// Template is a database that others are made as copies of: filling it once is
// cheaper than filling each of them. It goes with the server.
type Template struct {
	make func() (name string, err error)
}

// NewTemplate makes a template that fill is to fill, once, when the first copy is
// wanted. fill must leave no connection behind.
func NewTemplate(fill func(url string) error) *Template {
	return &Template{make: sync.OnceValues(func() (string, error) {
		server, err := sharedServer()
		if err != nil {
			return "", err
		}
		name := "template_" + strings.ToLower(rand.Text())
		if err := adminExec(server.adminURL, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
			return "", err
		}
		target, err := databaseURL(server.adminURL, name)
		if err != nil {
			return "", err
		}
		return name, fill(target)
	})}
}

// URL returns the address of a fresh copy, which is dropped when t ends.
func (c *Template) URL(t testing.TB) string {
	t.Helper()
	name, err := c.make()
	if err != nil {
		unavailable(t, err)
	}
	server, err := sharedServer()
	if err != nil {
		unavailable(t, err)
	}
	return freshDatabase(t, server.adminURL, name)
}

// shared is the server all tests of this process use. Holding on to own keeps
// its leash from being closed by the garbage collector.
type shared struct {
	adminURL string
	own      *Server // nil when the server was given
}

// sharedServer finds or starts it, once. It is the package's one global, because the
// process is what the server belongs to.
var sharedServer = sync.OnceValues(func() (shared, error) {
	if given := os.Getenv("PARLEY_TEST_PG"); given != "" {
		return shared{adminURL: given}, nil
	}
	own, err := Start()
	if err != nil {
		return shared{}, err
	}
	return shared{adminURL: own.AdminURL(), own: own}, nil
})

// unavailable ends t: a machine without PostgreSQL is a reason to skip, unless the
// run demands everything; a PostgreSQL that does not start is a failure always.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) && os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// freshDatabase copies a template that nobody is connected to, such as template0:
// then creating never waits for others.
func freshDatabase(t testing.TB, adminURL, template string) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text())
	if err := adminExec(adminURL, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		// A test may have crashed its server on purpose; its folder goes anyway.
		_ = adminExec(adminURL, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	target, err := databaseURL(adminURL, name)
	if err != nil {
		t.Fatalf("server address: %v", err)
	}
	return target
}

func databaseURL(adminURL, name string) (string, error) {
	u, err := url.Parse(adminURL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func adminExec(adminURL, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
