// Package pgtest gives tests a real PostgreSQL server.
//
//	func TestSomething(t *testing.T) {
//		url := pgtest.URL(t) // a fresh, empty database; dropped when t ends
//		...
//	}
//
// Where the server comes from:
//
//	PARLEY_TEST_PG set    that server is used: `make test` starts one for the whole run
//	otherwise             the test process starts its own on first use
//
// A server lives in a temporary folder, listens on loopback only, wants a
// random password and never runs as root. A small shell supervisor holds it: the
// moment the process that started it is gone, however it went (even by
// kill -9), the supervisor stops the server and removes the folder. So there is
// no TestMain to write and nothing to leak.
//
// The settings are PostgreSQL's durable defaults (fsync and synchronous_commit
// on), so a test that crashes the server sees what production would see:
//
//	srv := pgtest.NewServer(t) // a server of this test's own
//	url := srv.URL(t)
//	srv.Kill9()                // every process of it, at once
//	srv.Restart()              // same URL; crash recovery has run
//
// On a machine without PostgreSQL a test that asks for one is skipped with a line
// that says what to install, unless PARLEY_TEST_REQUIRE_ALL=1, as in `make test`:
// there it fails.
package pgtest
