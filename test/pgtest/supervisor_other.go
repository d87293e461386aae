//go:build !unix

package pgtest

import "errors"

// A server of our own needs a POSIX shell and signals. Elsewhere tests can still use
// one that runs already, by PARLEY_TEST_PG.
var errNoSupervisor = errors.New("starting PostgreSQL for tests works on unix only: set PARLEY_TEST_PG to the URL of a running server")

type folderFate bool

const (
	keepFolder   folderFate = true
	removeFolder folderFate = false
)

type supervisor struct{}

func supervise(string, ...string) (*supervisor, error) { return nil, errNoSupervisor }

func (*supervisor) end(folderFate) error { return errNoSupervisor }

func (*supervisor) serverExited() bool { return true }

func (*supervisor) logTail() string { return "" }

func (*supervisor) kill([]int) error { return errNoSupervisor }

func makeDir() (string, error) { return "", errNoSupervisor }

func writeOwned(string, string) error { return errNoSupervisor }

func runAsOwner(string, string, ...string) ([]byte, error) { return nil, errNoSupervisor }
