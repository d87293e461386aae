package elsewhere

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

const (
	// maxConversation is the largest conversation that is read into memory.
	maxConversation = 256 << 20
	// enough is how much of a file tells what it is.
	enough = 64 << 10
)

// Read gives the conversations of a file, one at a time. An error ends it. A file of
// [Session] kind gives none: see [KindOf].
func Read(r io.Reader) iter.Seq2[*Conversation, error] {
	return func(yield func(*Conversation, error) bool) {
		in := plain(r)
		kind, err := kindOf(in)
		switch {
		case err != nil:
			yield(nil, err)
		case kind == ClaudeCode || kind == OpenClaw:
			readLines(in, kind, yield)
		case kind != Session:
			readArray(in, yield)
		}
	}
}

// KindOf tells what a file is by how it begins.
func KindOf(r io.Reader) (Kind, error) { return kindOf(plain(r)) }

// plain skips a byte-order mark.
func plain(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, enough)
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\uFEFF")) {
		_, _ = in.Discard(3)
	}
	return in
}

func kindOf(in *bufio.Reader) (Kind, error) {
	head, err := in.Peek(enough)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	if bytes.HasPrefix(head, []byte("[")) {
		return ChatGPT, nil // or Claude: each conversation says so itself
	}
	for line := range bytes.Lines(head) {
		var l sessionLine
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		switch {
		case l.Agent != "" && l.CreatedBy != "":
			return Session, nil
		case l.Type == "session" && l.ID != "":
			return OpenClaw, nil
		case l.SessionID != "" || l.Type == "summary" && l.LeafUUID != "":
			return ClaudeCode, nil
		}
	}
	return "", ErrUnknown
}

// readArray reads an export that is one list of conversations.
func readArray(in io.Reader, yield func(*Conversation, error) bool) {
	limited := &budget{r: in}
	dec := json.NewDecoder(limited)
	if _, err := dec.Token(); err != nil {
		yield(nil, fmt.Errorf("%w: %w", ErrUnknown, err))
		return
	}
	for dec.More() {
		limited.left = maxConversation
		var raw exported
		if err := dec.Decode(&raw); err != nil {
			if errors.Is(err, ErrTooLarge) {
				err = ErrTooLarge
			}
			yield(nil, err)
			return
		}
		c := raw.conversation()
		if c == nil {
			yield(nil, ErrUnknown)
			return
		}
		if !yield(c, nil) {
			return
		}
	}
}

// budget bounds what is read for one conversation: a decoder keeps all of it.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.left = enough // for the beginning of the list, and what a buffer reads ahead
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	if b.left -= n; b.left <= 0 && err == nil {
		err = ErrTooLarge
	}
	return n, err
}
