package store

import (
	"context"
	"database/sql"
	"runtime"
	"time"
)

// session is one SQLite connection with its prepared statements. Only one
// goroutine uses it at a time. Preparing a statement costs more than running
// most of ours, so every text is prepared once per connection.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	// turn is since when the writer has had its processor; see yield.
	turn time.Time
}

// longTurn is how long the writer keeps others waiting who are ready to run: the
// runtime would let it go on for ten milliseconds, and calls that touch no disk
// would feel that.
const longTurn = 2 * time.Millisecond

// yield lets others run in the midst of a long transaction.
func (s *session) yield() {
	if !s.turn.IsZero() && time.Since(s.turn) > longTurn {
		runtime.Gosched()
		s.turn = time.Now()
	}
}

// maxStatements bounds the cache; texts are constants, so it is never reached
// unless somebody builds SQL from data.
const maxStatements = 1000

func newSession(ctx context.Context, pool *sql.DB) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[query]; ok {
		return stmt, nil
	}
	if len(s.stmts) >= maxStatements {
		s.forget()
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = stmt
	return stmt, nil
}

func (s *session) forget() {
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	clear(s.stmts)
}

func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	s.yield()
	return stmt.ExecContext(ctx, args...)
}

func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		// Let database/sql report the same error through the row.
		return s.conn.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (s *session) script(ctx context.Context, text string) error {
	_, err := s.conn.ExecContext(ctx, text)
	return err
}

func (s *session) run(query string) error {
	_, err := s.ExecContext(context.Background(), query)
	return err
}

func (s *session) close() error {
	s.forget()
	return s.conn.Close()
}
