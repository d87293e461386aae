package tools

import (
	"context"
	"time"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

func (s *Set) netConfig(ctx context.Context, _ Call) (any, error) {
	interfaces, err := probe.Interfaces()
	if err != nil {
		return nil, err
	}
	dns, err := probe.DNS(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"interfaces": orEmpty(interfaces), "dns": orEmpty(dns)}, nil
}

func (s *Set) dnsFlush(ctx context.Context, _ Call) (any, error) {
	if err := flushDNS(ctx); err != nil {
		return nil, err
	}
	return map[string]any{"ok": true}, nil
}

func (s *Set) adapterReset(ctx context.Context, c Call) (any, error) {
	name := c.Args.Text("name")
	loopback, err := probe.Loopback(name)
	if err != nil {
		return nil, &wire.Error{Code: wire.CodeNotFound, Message: err.Error()}
	}
	if loopback {
		return nil, badArgs("%q is the loopback; resetting it would cut the machine off from itself", name)
	}
	if err := resetAdapter(ctx, name); err != nil {
		return nil, err
	}
	return map[string]any{"ok": true}, nil
}

// upWait bounds the step that brings an adapter back. It runs whatever became
// of the call: an adapter left down may be the one we talk through.
const upWait = 30 * time.Second

// downUp takes an adapter down and up again. The first failure counts, but the
// second step is always taken.
func downUp(ctx context.Context, down, up func(context.Context) error) error {
	downErr := down(ctx)
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), upWait)
	defer cancel()
	if err := up(again); err != nil {
		return err
	}
	return downErr
}
