package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser = "parley"
	// A cold start on a busy two-core machine takes seconds, never a minute: past
	// this the server is broken, not slow.
	startPatience = time.Minute
	// How often a state that nobody announces is looked at.
	pollEvery = 20 * time.Millisecond
)

// Server is one PostgreSQL server in a temporary folder of its own. Its methods
// may be called from several goroutines.
type Server struct {
	bin      string // folder of the programs
	dir      string // holds data/, log and the supervisor's notes
	password string
	port     int

	mu   sync.Mutex
	life *supervisor // nil while the server is down
}

// Start makes a new server and waits until it accepts connections. The caller
// stops it with Stop; should the calling process die instead, the server stops too.
func Start() (*Server, error) {
	bin, err := BinDir()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir()
	if err != nil {
		return nil, fmt.Errorf("make the server's folder: %w", err)
	}
	s := &Server{bin: bin, dir: dir, password: rand.Text()}
	if err := s.firstStart(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) firstStart() error {
	if err := s.initialise(); err != nil {
		return err
	}
	return s.startOnFreePort()
}

// AdminURL is the address of the server's maintenance database, as its superuser.
func (s *Server) AdminURL() string { return s.urlOf("postgres") }

func (s *Server) urlOf(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return os.RemoveAll(s.dir)
	}
	err := s.life.end(removeFolder)
	s.life = nil
	return err
}

// initialise makes the data folder. Its files are not synced to disk one by one
// (only a power cut would show the difference, and then the folder is lost anyway);
// everything written after that is.
func (s *Server) initialise() error {
	pwfile := filepath.Join(s.dir, "password")
	if err := writeOwned(pwfile, s.password); err != nil {
		return err
	}
	out, err := runAsOwner(s.dir, filepath.Join(s.bin, "initdb"),
		"--pgdata", filepath.Join(s.dir, "data"), "--no-sync", "--no-instructions",
		"--encoding", "UTF8", "--locale", "C",
		"--username", superuser, "--pwfile", pwfile, "--auth", "scram-sha-256")
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Remove(pwfile)
}

// startOnFreePort retries because between finding a port free and binding it,
// another process may take it.
func (s *Server) startOnFreePort() error {
	var errs []error
	for range 5 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		if err = s.start(); err == nil {
			return nil
		}
		errs = append(errs, err)
		if !strings.Contains(err.Error(), "Address already in use") {
			break
		}
	}
	return errors.Join(errs...)
}

// freePort picks below the ranges that systems hand to outgoing connections, so
// that no connection sits on the port between a crash and a restart.
func freePort() (int, error) {
	const low, count = 20000, 12000
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(count))
		if err != nil {
			return 0, err
		}
		port := low + int(n.Int64())
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no free port found on loopback")
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	life, err := supervise(s.dir, filepath.Join(s.bin, "postgres"),
		"-D", filepath.Join(s.dir, "data"),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port="+strconv.Itoa(s.port),
		"-c", "unix_socket_directories=",
		"-c", "max_connections=300",
		"-c", "shared_buffers=64MB")
	if err != nil {
		return err
	}
	if err := s.waitReady(life); err != nil {
		return errors.Join(err, life.end(keepFolder))
	}
	s.life = life
	return nil
}

// waitReady returns when the server answers, or with the end of its log when it will not.
func (s *Server) waitReady(life *supervisor) error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		if life.serverExited() {
			return fmt.Errorf("PostgreSQL did not start:\n%s", life.logTail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not become ready: %w\n%s", err, life.logTail())
		case <-tick.C:
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
