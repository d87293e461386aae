package egress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrRefused says that a program may not reach a host.
var ErrRefused = errors.New("this host is not allowed")

// Bounds of what one program may ask: a person looks at each question.
const (
	maxAsking = 4
	maxAsked  = 32
)

// answer is what was said about a host; done is closed when it is there.
type answer struct {
	done chan struct{}
	err  error
}

// permit says whether the program may reach a host. A host is asked about once.
func (e *Exit) permit(ctx context.Context, host string) error {
	if err := e.o.Guard.CheckHost(host); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, host, err)
	}
	if Listed(e.o.Hosts, host) {
		return nil
	}
	if !validName(host) || e.o.Permit == nil {
		return fmt.Errorf("%w: %s", ErrRefused, host)
	}
	a, first, err := e.ask(host)
	if err != nil {
		return err
	}
	if first {
		a.err = e.o.Permit(e.ctx, host) // for all that want this host, however long each of them waits
		e.mu.Lock()
		e.asking--
		e.mu.Unlock()
		close(a.done)
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, host, a.err)
	}
	return nil
}

// ask finds the question about a host, or begins it.
func (e *Exit) ask(host string) (a *answer, first bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a = e.asked[host]; a != nil {
		return a, false, nil
	}
	if e.asking >= maxAsking || len(e.asked) >= maxAsked {
		return nil, false, fmt.Errorf("%w: %s: this program asks for too many hosts", ErrRefused, host)
	}
	a = &answer{done: make(chan struct{})}
	e.asked[host] = a
	e.asking++
	return a, true, nil
}

// Listed tells whether a host is on a list of names, where *.name is all below a name.
func Listed(list []string, host string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		one = plainName(one)
		below, open := strings.CutPrefix(one, "*")
		return one == host || open && len(below) > 1 && below[0] == '.' && strings.HasSuffix(host, below)
	})
}

// validName keeps what could mislead a person, or be no name at all, out of questions.
func validName(host string) bool {
	return len(host) > 0 && len(host) <= 253 && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}
