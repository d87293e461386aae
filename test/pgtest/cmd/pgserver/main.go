// Command pgserver runs another command with a PostgreSQL server at its side:
//
//	pgserver go test ./...
//
// It starts a server in a temporary folder, gives its address to the command in
// PARLEY_TEST_PG, and stops the server when the command ends, by itself or by a
// signal. Its exit code is the command's.
//
//	pgserver -where
//
// prints the folder of the server programs it would use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"parley.internal/test/pgtest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pgserver COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := dispatch(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgserver:", err)
	}
	os.Exit(code)
}

func dispatch(args []string) (int, error) {
	if args[0] != "-where" {
		return run(args)
	}
	dir, err := pgtest.BinDir()
	if err != nil {
		return 1, err
	}
	fmt.Println(dir)
	return 0, nil
}

func run(command []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv, err := pgtest.Start()
	if err != nil {
		return 1, err
	}
	code, err := runBeside(ctx, srv, command)
	return code, errors.Join(err, srv.Stop())
}

func runBeside(ctx context.Context, srv *pgtest.Server, command []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PARLEY_TEST_PG="+srv.AdminURL())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // then it is killed
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
