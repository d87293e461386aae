package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// forgottenError says that the hub does not know a session.
type forgottenError struct{ session string }

func (*forgottenError) Error() string { return "the hub has forgotten this session" }

// maxError is how much of a refusal is read.
const maxError = 64 << 10

// post sends a message and hands on everything that comes back. answered tells
// whether the request's own response was among it.
func (b *Bridge) post(ctx context.Context, m message) (answered bool, err error) {
	return b.exchange(ctx, m, b.say)
}

func (b *Bridge) exchange(ctx context.Context, m message, say func([]byte)) (answered bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Endpoint, bytes.NewReader(m.raw))
	if err != nil {
		return false, err
	}
	b.identify(req)
	b.mark(req, m)
	res, err := b.Client.Do(req)
	if err != nil {
		return false, fmt.Errorf("the hub cannot be reached: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		b.mu.Lock()
		b.session = id
		b.mu.Unlock()
	}
	hear := func(raw []byte) {
		got, err := read(raw)
		if err != nil {
			return
		}
		if got.answers(m) {
			answered = true
			b.learn(m, got)
		}
		say(raw)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream" && res.StatusCode == http.StatusOK:
		err = events(res.Body, hear)
	case kind == "application/json":
		err = b.whole(res.Body, hear)
	case res.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "":
		return false, &forgottenError{req.Header.Get("Mcp-Session-Id")}
	case res.StatusCode >= http.StatusBadRequest:
		return false, refusal(res)
	}
	return answered, err
}

// identify says who and which bridge this is.
func (b *Bridge) identify(req *http.Request) {
	req.Header.Set("Authorization", "Bearer "+b.Token)
	req.Header.Set("Parley-Stdio-Link", b.link)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
}

// mark adds the headers of the message's revision.
func (b *Bridge) mark(req *http.Request, m message) {
	if m.alone() {
		req.Header.Set("Mcp-Protocol-Version", m.Params.Meta.Version)
		req.Header.Set("Mcp-Method", m.Method)
		if target := m.target(); target != "" {
			req.Header.Set("Mcp-Name", headerText(target))
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != "" {
		req.Header.Set("Mcp-Session-Id", b.session)
		req.Header.Set("Mcp-Protocol-Version", b.revision)
	}
}

// learn takes from an answer what the next request needs.
func (b *Bridge) learn(asked, got message) {
	if asked.Method != "initialize" || got.Result.Version == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision = got.Result.Version
}

// whole is an answer that is one message.
func (b *Bridge) whole(body io.Reader, hear func([]byte)) error {
	raw, err := io.ReadAll(body)
	if err == nil && len(raw) > 0 {
		hear(raw)
	}
	return err
}

// events reads a stream of messages (server-sent events).
func events(body io.Reader, hear func([]byte)) error {
	reader := bufio.NewReaderSize(body, 64<<10)
	var data []byte
	for {
		line, err := reader.ReadBytes('\n')
		text := strings.TrimRight(string(line), "\r\n")
		if value, ok := strings.CutPrefix(text, "data:"); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(value, " ")...)
		}
		if (text == "" || err != nil) && len(data) > 0 {
			hear(data)
			data = nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the connection to the hub broke: %w", err)
		}
	}
}

// refusal is what the hub says instead of an answer.
func refusal(res *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(raw, &problem) == nil && problem.Code != "" {
		return fmt.Errorf("the hub refuses: %s: %s", problem.Code, problem.Detail)
	}
	return fmt.Errorf("the hub answers %s: %s", res.Status, strings.TrimSpace(string(raw)))
}
