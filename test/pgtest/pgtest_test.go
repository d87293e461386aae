package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"parley.internal/test/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachURLIsAFreshEmptyDatabase(t *testing.T) {
	a, b := pgtest.URL(t), pgtest.URL(t)
	if a == b {
		t.Fatalf("two calls gave the same database %s", a)
	}
	exec(t, a, "CREATE TABLE only_in_a (n BIGINT)")
	if n := number(t, b, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("the second database has %d tables, want none", n)
	}
}

func TestDatabaseIsDroppedWhenItsTestEnds(t *testing.T) {
	srv := pgtest.NewServer(t)
	mine := srv.URL(t)
	const databases = "SELECT count(*) FROM pg_database WHERE NOT datistemplate"
	before := number(t, mine, databases)
	t.Run("inner", func(t *testing.T) { exec(t, srv.URL(t), "CREATE TABLE x (n BIGINT)") })
	if after := number(t, mine, databases); after != before {
		t.Errorf("%d databases after the inner test, %d before", after, before)
	}
}

func TestSettingsAreDurable(t *testing.T) {
	url := pgtest.URL(t)
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := text(t, url, "SELECT current_setting('"+setting+"')"); got != "on" {
			t.Errorf("%s = %s, want on", setting, got)
		}
	}
}

func TestCommittedRowsSurviveKill9OfTheServer(t *testing.T) {
	srv := pgtest.NewServer(t)
	url := srv.URL(t)
	exec(t, url, "CREATE TABLE kept (n BIGINT)")
	for want := int64(1); want <= 2; want++ {
		exec(t, url, "INSERT INTO kept VALUES (1)")
		srv.Kill9()
		if conn, err := pgx.Connect(t.Context(), url); err == nil {
			_ = conn.Close(t.Context())
			t.Fatal("the killed server still accepts connections")
		}
		srv.Restart()
		if got := number(t, url, "SELECT count(*) FROM kept"); got != want {
			t.Errorf("%d rows after crash %d, want %d", got, want, want)
		}
	}
}

func TestServerRefusesAWrongPassword(t *testing.T) {
	config, err := pgx.ParseConfig(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Password = "guess"
	if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("connected with a wrong password")
	}
}

func exec(t *testing.T, url, statement string) {
	t.Helper()
	withConn(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func number(t *testing.T, url, query string) (n int64) {
	t.Helper()
	withConn(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query).Scan(&n)
	})
	return n
}

func text(t *testing.T, url, query string) (s string) {
	t.Helper()
	withConn(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query).Scan(&s)
	})
	return s
}

func withConn(t *testing.T, url string, fn func(context.Context, *pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := fn(t.Context(), conn); err != nil {
		t.Error(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCopiesOfATemplateHaveWhatItHasAndNothingOfEachOther(t *testing.T) {
	fills := 0
	template := pgtest.NewTemplate(func(url string) error {
		fills++
		exec(t, url, "CREATE TABLE kept AS SELECT 7::bigint AS n")
		return nil
	})
	a, b := template.URL(t), template.URL(t)
	exec(t, a, "UPDATE kept SET n = 8")
	if got := number(t, b, "SELECT n FROM kept"); got != 7 || fills != 1 {
		t.Errorf("the copy has %d after %d fills", got, fills)
	}
}
