package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"parley.internal/internal/brain/model"
	wire "parley.internal/protocol/openai"
)

var finishes = map[model.Finish]wire.Finish{
	model.FinishStop: wire.FinishStop, model.FinishLength: wire.FinishLength, model.FinishFilter: wire.FinishFilter,
}

// chatVoice tells chat.completion chunks.
type chatVoice struct {
	a     *wire.Answer
	usage bool
}

func one(data any) []frame { return []frame{{data: data}} }

func (v *chatVoice) start() []frame            { return one(v.a.ChatStart()) }
func (v *chatVoice) say(text string) []frame   { return one(v.a.ChatText(text)) }
func (v *chatVoice) think(text string) []frame { return one(v.a.ChatThought(text)) }
func (v *chatVoice) whole() any                { return v.a.Chat() }

func (v *chatVoice) end() (out []frame) {
	for _, chunk := range v.a.ChatEnd(v.usage) {
		out = append(out, frame{data: chunk})
	}
	return append(out, frame{})
}

func (v *chatVoice) fail(e *wire.Error) []frame { return one(wire.Envelope{Error: e}) }

// responseVoice tells events of the responses kind.
type responseVoice struct{ s *wire.Stream }

func named(events []wire.Event) (out []frame) {
	for _, e := range events {
		out = append(out, frame{e.Type, e})
	}
	return out
}

func (v *responseVoice) start() []frame             { return named(v.s.Start()) }
func (v *responseVoice) say(text string) []frame    { return named(v.s.Say(text)) }
func (v *responseVoice) think(text string) []frame  { return named(v.s.Think(text)) }
func (v *responseVoice) end() []frame               { return named(v.s.End()) }
func (v *responseVoice) fail(e *wire.Error) []frame { return named(v.s.Fail(e)) }
func (v *responseVoice) whole() any                 { return v.s.Whole() }

// sse writes server-sent events. After an error nothing more is written.
type sse struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	begun    bool
	err      error
}

func (s *sse) begin() {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.patience)) // a server without deadlines waits as it does
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-store")
	s.w.WriteHeader(http.StatusOK)
}

func (s *sse) frames(list []frame) {
	s.begin()
	for _, f := range list {
		if s.err != nil {
			return
		}
		text := []byte("[DONE]")
		if f.data != nil {
			if text, s.err = json.Marshal(f.data); s.err != nil {
				return
			}
		}
		if f.event != "" {
			_, s.err = fmt.Fprintf(s.w, "event: %s\n", f.event)
		}
		if s.err == nil {
			_, s.err = fmt.Fprintf(s.w, "data: %s\n\n", text)
		}
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
}

// comment is what every reader of events skips.
func (s *sse) comment(text string) {
	s.begin()
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, ": %s\n\n", text)
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
}
