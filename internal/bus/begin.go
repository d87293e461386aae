package bus

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// subjectRoot begins every subject on the servers; the cluster follows. Messages are
	// below its m, answers below its r, so that one line of permissions is enough:
	// parley.CLUSTER.>
	subjectRoot = "parley."
	// oldGreeting is what hubs of versions without seals publish every ten seconds.
	oldGreeting = "terminal.hello"
	// allGreetings is the same of all clusters that seal.
	allGreetings = subjectRoot + "*.m." + oldGreeting
	// beginTime is how long the servers may take to bring a hub its own message.
	beginTime = 5 * time.Second
)

// Subjects is all this bus uses on the servers, for their permissions.
func (b *NATS) Subjects() string { return subjectRoot + b.seal.cluster + ".>" }

// SubjectsOf is the same for a cluster's secret.
func SubjectsOf(secret []byte) (string, error) {
	l, err := newSeal(secret)
	if err != nil {
		return "", err
	}
	return subjectRoot + l.cluster + ".>", nil
}

// begin has the bus listen for answers, and sends a message to itself: servers that do not let
// this hub use its subjects would only be noticed by what never arrives.
func (b *NATS) begin(ctx context.Context) error {
	if _, err := b.nc.Subscribe(b.replies+hex.EncodeToString(b.session[:])+".*", b.heardAnswer); err != nil {
		return b.wrap(err)
	}
	ctx, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	subject := "self." + hex.EncodeToString(b.session[:])
	self, err := b.Subscribe(subject, func(m Msg) { _ = m.Respond(nil) })
	if err != nil {
		return err
	}
	defer self.Close()
	if _, err := b.Request(ctx, subject, nil); err != nil {
		if last := b.nc.LastError(); errors.Is(last, nats.ErrPermissionViolation) {
			return fmt.Errorf("bus: the NATS servers do not let this hub publish and subscribe to %s: %w", b.Subjects(), b.servers.redact(last))
		}
		return fmt.Errorf("bus: the NATS servers do not bring this hub its own messages: %w", err)
	}
	return b.watchOthers()
}

// watchOthers listens for hubs this one cannot talk to, to say that they are there. It is not allowed
// to where a hub may use its own subjects only, and then nobody else is either.
func (b *NATS) watchOthers() error {
	sayOnce := sync.OnceFunc(func() {
		b.log.Info("bus: another cluster uses these NATS servers too; the two do not hear each other", "ours", b.Subjects())
	})
	for subject, heard := range map[string]nats.MsgHandler{
		oldGreeting: func(m *nats.Msg) { b.refusals.count(errUnsealed, m.Subject, &envelope{}, time.Now()) },
		allGreetings: func(m *nats.Msg) {
			if !strings.HasPrefix(m.Subject, b.messages) {
				sayOnce()
			}
		},
	} {
		if _, err := b.nc.Subscribe(subject, heard); err != nil {
			return b.wrap(err)
		}
	}
	return nil
}

// watchedFor reports that the servers did not let us listen for others.
func watchedFor(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) &&
		(strings.Contains(err.Error(), `"`+oldGreeting+`"`) || strings.Contains(err.Error(), `"`+allGreetings+`"`))
}
