package roomagent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"parley.internal/protocol/kibitz"
)

// The pause before a credit is renewed when it does not say how long it lasts, and the
// shortest one.
const (
	usualPause    = 30 * time.Second
	shortestPause = 5 * time.Second
)

// renewalPause is half of what is left of a credit, so that one failure is no lapse.
func renewalPause(credit string, now time.Time) time.Duration {
	parts := strings.Split(credit, ".")
	if len(parts) != 3 {
		return usualPause
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	var is struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(claims, &is) != nil || is.Exp <= 0 {
		return usualPause
	}
	left := time.Unix(int64(is.Exp), 0).Sub(now)
	return max(shortestPause, left/2)
}

func (c *Conn) currentCredit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.credit
}

// paid is a credit that lasts: a new one if there is none, or if it is about to end.
// Who cannot pay at first is not let in; later the connection is tried again.
func (c *Conn) paid() (string, error) {
	credit := c.currentCredit()
	if c.opts.RenewCredit == nil || credit != "" && renewalPause(credit, time.Now()) > shortestPause {
		return credit, nil
	}
	credit, err := c.opts.RenewCredit(c.life)
	if err != nil {
		select {
		case <-c.joined:
			return "", err
		default:
			return "", &DeniedError{Code: string(kibitz.CreditUnavailable), Reason: err.Error()}
		}
	}
	c.mu.Lock()
	c.credit = credit
	c.mu.Unlock()
	return credit, nil
}

// ProvideCredit pays for the next minutes.
func (c *Conn) ProvideCredit(ctx context.Context, credit string) error {
	c.mu.Lock()
	c.credit = credit
	c.mu.Unlock()
	on := true
	_, err := c.ask(ctx, func(n int64) kibitz.Frame {
		v := &kibitz.Voice{On: &on}
		v.N, v.AgentCredit = n, credit
		return v
	}, false)
	return err
}

// renewing pays anew before what was paid for ends, until stop is called. What fails is
// tried again after a pause; the room tells by itself when it is too late.
func (c *Conn) renewing() (stop func()) {
	if c.opts.RenewCredit == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.life)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-c.joined:
		case <-ctx.Done():
		}
		for pauseFor(ctx, renewalPause(c.currentCredit(), time.Now())) {
			if credit, err := c.opts.RenewCredit(ctx); err == nil {
				_ = c.ProvideCredit(ctx, credit)
			}
		}
	}()
	return func() { cancel(); <-ended }
}
