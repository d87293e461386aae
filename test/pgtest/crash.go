package pgtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestServer is a server that belongs to one test, which may crash it.
type TestServer struct {
	t   testing.TB
	srv *Server
}

// NewServer starts a server for t alone and stops it when t ends. Starting one takes
// a second or two: only a test that crashes its server needs this, others use [URL].
func NewServer(t testing.TB) *TestServer {
	t.Helper()
	srv, err := Start()
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return &TestServer{t: t, srv: srv}
}

// URL returns the address of a fresh, empty database on this server.
func (s *TestServer) URL(t testing.TB) string {
	t.Helper()
	return freshDatabase(t, s.srv.AdminURL(), "template0")
}

// Kill9 ends every process of the server at once by SIGKILL. When it returns,
// the server is gone.
func (s *TestServer) Kill9() {
	s.t.Helper()
	if err := s.srv.kill9(); err != nil {
		s.t.Fatalf("kill -9 PostgreSQL: %v", err)
	}
}

// Restart starts the server again after Kill9, on the same port and the same
// data, and returns when it has recovered and accepts connections.
func (s *TestServer) Restart() {
	s.t.Helper()
	if err := s.srv.restart(); err != nil {
		s.t.Fatalf("restart PostgreSQL: %v", err)
	}
}

func (s *Server) kill9() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return errors.New("it is down already")
	}
	// The children are asked for by SQL, as each has a process group of its own.
	// Those that start in between notice the main one's death and leave.
	children, err := s.children()
	err = errors.Join(err, s.life.kill(children), s.life.end(keepFolder))
	s.life = nil
	return err
}

func (s *Server) children() ([]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// restart tries again while the last orphaned process of the crashed server still
// holds its shared memory.
func (s *Server) restart() error {
	deadline := time.Now().Add(startPatience)
	for {
		err := s.start()
		if err == nil || !strings.Contains(err.Error(), "shared memory block") || time.Now().After(deadline) {
			return err
		}
	}
}
