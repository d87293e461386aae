package endpoint

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"parley.internal/client/kenny"
	wire "parley.internal/protocol/kenny"
)

// Waits between attempts to enrol at a hub that cannot be reached.
const (
	enrolFirst = time.Second
	enrolMost  = time.Minute
)

// enrol binds the key to the machine's id, unless that was done, and remembers
// what it was told. A hub that cannot be reached is asked again; a refusal is
// final.
func (e *Endpoint) enrol(ctx context.Context) error {
	if e.opts.Token == "" && e.config.EnrolledWith == "" {
		return ErrNotEnrolled
	}
	if e.opts.Token == "" || digest(e.opts.Token) == e.config.EnrolledWith {
		return SaveConfig(e.opts.State, e.config)
	}
	for wait := enrolFirst; ; wait = min(2*wait, enrolMost) {
		err := e.enrolOnce(ctx)
		if err == nil {
			e.config.EnrolledWith = digest(e.opts.Token)
			return SaveConfig(e.opts.State, e.config)
		}
		if final(err) {
			return err
		}
		e.log.Warn("enrolment failed, trying again", "error", err, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *Endpoint) enrolOnce(ctx context.Context) error {
	public, _ := e.key.Public().(ed25519.PublicKey)
	var opts []kenny.EnrollOption
	if e.config.Insecure {
		opts = append(opts, kenny.WithInsecurePlaintext())
	}
	var err error
	for _, hub := range e.config.addresses() {
		err = kenny.Enroll(ctx, hub, e.config.ID, e.opts.Token, public, opts...)
		if _, answered := errors.AsType[*kenny.EnrollError](err); err == nil || answered {
			break
		}
	}
	switch {
	case errors.Is(err, kenny.ErrEnrollConflict):
		return e.afterConflict(ctx, err)
	case errors.Is(err, kenny.ErrEnrollToken) && e.config.EnrolledWith != "":
		// A service that is started again and again with the same, long used
		// token: the key counts.
		e.log.Warn("the token is not valid any more; going on with the key that was enrolled")
		return nil
	}
	return err
}

// afterConflict: the hub may know this very key, from an enrolment whose
// answer was lost. One handshake tells.
func (e *Endpoint) afterConflict(ctx context.Context, conflict error) error {
	err := e.client.Try(ctx)
	if err == nil {
		return nil
	}
	if closed, ok := errors.AsType[*kenny.Closed](err); ok && closed.Code == wire.CloseUnauthorized {
		return fmt.Errorf("%w (%w)", ErrNeedsRekey, conflict)
	}
	return err
}

// final reports whether asking again is pointless.
func final(err error) bool {
	return errors.Is(err, ErrNeedsRekey) || errors.Is(err, kenny.ErrEnrollInvalid) || errors.Is(err, kenny.ErrEnrollToken) ||
		errors.Is(err, wire.ErrBadKey) || errors.Is(err, kenny.ErrServerUnverified) || errors.Is(err, context.Canceled)
}

// Enrol enrols without serving; for installing.
func (e *Endpoint) Enrol(ctx context.Context) error { return e.enrol(ctx) }
