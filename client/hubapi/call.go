package hubapi

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"parley.internal/protocol/rest"
)

// Call asks the hub for what an operation does, and gives its answer.
func Call[In, Out any](ctx context.Context, c *Client, op rest.Operation[In, Out], in In) (out Out, err error) {
	answer, err := c.send(ctx, op.Request(in))
	if err != nil {
		return out, err
	}
	defer func() { _ = answer.Close() }()
	if reflect.TypeFor[Out]() == reflect.TypeFor[rest.None]() {
		return out, nil
	}
	return out, decode(answer, &out)
}

// Open asks for an answer that is no JSON, and gives it as it comes.
func Open[In any](ctx context.Context, c *Client, op rest.Operation[In, rest.None], in In) (io.ReadCloser, error) {
	return c.send(ctx, op.Request(in))
}

// Copy asks for such an answer, and writes it.
func Copy[In any](ctx context.Context, c *Client, w io.Writer, op rest.Operation[In, rest.None], in In) error {
	body, err := Open(ctx, c, op, in)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return err
}

// Patient is the client without a limit for the beginning of an answer: what a
// machine does may take an hour.
func (c *Client) Patient() *Client {
	own := *c
	if t, ok := c.http.Transport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = 0
		own.http = &http.Client{Transport: t}
	}
	return &own
}

// Machines lists the machines, all pages of them.
func Machines(ctx context.Context, c *Client, q rest.MachineQuery) ([]rest.Machine, error) {
	all := []rest.Machine{}
	for {
		page, err := Call(ctx, c, rest.ListMachines, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Machines...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, nil
		}
	}
}

// Checkpoints lists the hub's own checkpoints after an entry, all pages of them, or those
// that the hub with a public key (in hex) left there.
func Checkpoints(ctx context.Context, c *Client, of string, after int64) ([]rest.Checkpoint, error) {
	q := rest.CheckpointQuery{After: after, Limit: 10_000}
	all := []rest.Checkpoint{}
	for {
		page, err := checkpoints(ctx, c, of, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Checkpoints...)
		if len(page.Checkpoints) < q.Limit {
			return all, nil
		}
		q.After = all[len(all)-1].Seq
	}
}

func checkpoints(ctx context.Context, c *Client, of string, q rest.CheckpointQuery) (rest.Checkpoints, error) {
	if of == "" {
		return Call(ctx, c, rest.ListCheckpoints, q)
	}
	return Call(ctx, c, rest.WitnessedOf, rest.WitnessedQuery{Key: of, CheckpointQuery: q})
}
