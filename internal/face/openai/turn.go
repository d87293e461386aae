package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/openai"
)

// acceptTime bounds how long a turn may take to become durable. It does not end with the connection:
// what a client said before it left is not lost.
const acceptTime = 30 * time.Second

func (f *Face) chat(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, wire.DecodeChat, func(a *wire.Answer, req *wire.Request) voice { return &chatVoice{a: a, usage: req.IncludeUsage} })
}

func (f *Face) responses(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, wire.DecodeResponses, func(a *wire.Answer, _ *wire.Request) voice { return &responseVoice{s: wire.NewStream(a)} })
}

// serve takes a request from its body to its answer.
func (f *Face) serve(w http.ResponseWriter, r *http.Request, decode func([]byte) (*wire.Request, error), speak func(*wire.Answer, *wire.Request) voice) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	req, err := decode(body)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	who, _ := front.Admitted(r.Context())
	p, run, err := f.begin(r, who, req)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	defer run.Leave()
	t := &telling{f: f, w: w, r: r, req: req, place: p, answer: &wire.Answer{ID: run.ID, Model: req.Model, Created: time.Now()}}
	t.voice = speak(t.answer, req)
	t.follow(run)
}

// begin has the turn accepted in the conversation it belongs to.
func (f *Face) begin(r *http.Request, who identity.Actor, req *wire.Request) (*place, *talk.Run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acceptTime)
	defer cancel()
	if _, err := f.d.Agents.Get(req.Model); err != nil {
		return nil, nil, err
	}
	p, err := f.place(ctx, who, r.Header, req)
	if err != nil {
		return nil, nil, err
	}
	turn, err := f.turn(ctx, who, r, req)
	if err != nil {
		return nil, nil, err
	}
	turn.Key = p.key
	run, err := f.d.Talk.Turn(ctx, who, turn)
	if errors.Is(err, talk.ErrNoCall) && req.Previous == "" && len(p.history) > 0 {
		// The calls are only in the client's history: it goes on from there.
		if err = p.fork(ctx); err == nil {
			turn.Key = p.key
			run, err = f.d.Talk.Turn(ctx, who, turn)
		}
	}
	return p, run, err
}

// turn is what the request says, for package talk.
func (f *Face) turn(ctx context.Context, who identity.Actor, r *http.Request, req *wire.Request) (talk.TurnRequest, error) {
	_, now := req.Split()
	out := talk.TurnRequest{
		Brief: req.Brief, NoStream: true, IdempotencyKey: r.Header.Get("Idempotency-Key"), Left: r.Context().Err() != nil,
		Tainted: hasResults(req.Turns), Program: true,
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, model.ToolSpec{Name: t.Name, Description: t.Description, Schema: schemaOf(t)})
	}
	for _, t := range now.Results {
		out.Results = append(out.Results, talk.ClientResult{CallID: t.CallID, Text: t.Text})
	}
	var words []string
	for _, t := range now.Words {
		if t.Text != "" {
			words = append(words, t.Text)
		}
		for _, file := range t.Files {
			kept, err := f.d.Files.Put(ctx, who, file.Name, bytes.NewReader(file.Data))
			if err != nil {
				return out, fmt.Errorf("the file %q: %w", file.Name, err)
			}
			out.Files = append(out.Files, kept.Digest)
		}
	}
	out.Content = strings.Join(words, "\n\n")
	return out, nil
}

func schemaOf(t wire.Function) []byte {
	if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
		return nil
	}
	return t.Parameters
}
