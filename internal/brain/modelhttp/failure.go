package modelhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/fit"
)

// maxText bounds a provider's own words in an error.
const maxText = 600

// fail sorts a failure of transport or decoding: the caller's own context
// first, then a stall, then a connection, and what is left is bad data.
func fail(provider string, ctx context.Context, w *Watchdog, err error) *model.Error { //nolint:revive // ctx is data here
	if cause := ctx.Err(); cause != nil {
		e := &model.Error{Provider: provider, Cause: model.CauseConnect, Err: cause, Final: true}
		if errors.Is(cause, context.DeadlineExceeded) {
			e.Cause = model.CauseTimeout
		}
		return e
	}
	if text, ok := w.stalled(); ok {
		return &model.Error{Provider: provider, Cause: model.CauseTimeout, Text: text}
	}
	var dial *url.Error
	var cut *readError
	switch {
	case errors.As(err, &dial): // without the URL, which may hold a password
		return &model.Error{Provider: provider, Cause: model.CauseConnect, Text: "cannot connect: " + dial.Err.Error(), Err: dial.Err}
	case errors.As(err, &cut), errors.Is(err, io.ErrUnexpectedEOF):
		return cutOff(provider)
	default:
		return BadData(provider, "the answer cannot be read: "+err.Error())
	}
}

// cutOff is a stream that ended before the answer did.
func cutOff(provider string) *model.Error {
	return &model.Error{Provider: provider, Cause: model.CauseConnect, Text: "the connection was cut before the answer was complete"}
}

// BadData is an answer that makes no sense.
func BadData(provider, text string) *model.Error {
	return &model.Error{Provider: provider, Cause: model.CauseBadData, Text: readable(text)}
}

// noEvents is an answer without a single event; the content type usually tells
// why.
func noEvents(provider string, resp *http.Response) *model.Error {
	text := "the answer is empty"
	if ct := resp.Header.Get("Content-Type"); ct != "" && !strings.HasPrefix(ct, "text/event-stream") {
		text += fmt.Sprintf(" (%s instead of an event stream: is the base URL right?)", readable(ct))
	}
	return BadData(provider, text)
}

// fromStatus reads a response that is not a success and closes its body.
func fromStatus(provider, key string, resp *http.Response) *model.Error {
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	code, text := said(raw)
	e := Status(provider, key, resp.StatusCode, code, text)
	e.RetryAfter = RetryAfter(resp.Header, time.Now())
	return e
}

// Status builds the error of an HTTP status, or of an error event that stands
// for one, out of the provider's code and words. The key is blotted out should
// the words repeat it.
func Status(provider, key string, status int, code, text string) *model.Error {
	e := &model.Error{Provider: provider, Cause: model.CauseStatus, Status: status}
	if status < 500 && status != http.StatusTooManyRequests && tooLong(status, code, text) {
		e.Cause = model.CauseContext
	}
	if key != "" {
		text = strings.ReplaceAll(text, key, "***")
	}
	e.Text = strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	if text = readable(text); text != "" {
		e.Text += ": " + text
	}
	return e
}

// said finds the code and the message in the usual shapes of error bodies.
func said(raw []byte) (code, text string) {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &doc) != nil {
		if t := strings.TrimSpace(string(raw)); !strings.HasPrefix(t, "<") { // an HTML page helps nobody
			return "", t
		}
		return "", ""
	}
	if code, text = Words(doc.Error); text != "" {
		return code, text
	}
	if doc.Message != "" {
		return code, doc.Message
	}
	var detail string
	if json.Unmarshal(doc.Detail, &detail) != nil {
		detail = string(doc.Detail)
	}
	return code, detail
}

// Words reads the "error" member of a body or an event: an object with code or
// type and message, or a plain string.
func Words(raw json.RawMessage) (code, text string) {
	if json.Unmarshal(raw, &text) == nil {
		return "", text
	}
	var obj struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &obj) != nil {
		return "", ""
	}
	switch c := obj.Code.(type) {
	case string:
		code = c
	case float64:
		code = strconv.Itoa(int(c))
	}
	if code == "" {
		code = obj.Type
	}
	return code, obj.Message
}

// longCodes and longWords are how servers say "longer than my window".
var (
	longCodes = []string{"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large"}
	longWords = []string{
		"prompt is too long", "maximum context length", "exceed context limit", "exceeds the context", "context window",
		"context length", "available context size", "input is too long", "reduce the length of", "too many input tokens",
		"maximum number of tokens allowed",
	}
)

func tooLong(status int, code, text string) bool {
	if slices.Contains(longCodes, code) {
		return true
	}
	if status == http.StatusRequestEntityTooLarge {
		return true
	}
	text = strings.ToLower(text)
	for _, w := range longWords {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// RetryAfter reads how long a server asks us to wait: milliseconds, seconds or
// a date. 0 means it did not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := positive(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := h.Get("Retry-After")
	if d, ok := positive(v, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// positive reads a number of units between 0 and a day; more is nonsense.
func positive(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > float64(24*time.Hour/unit) {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}

// readable is a foreign text that a person can read in one line.
func readable(text string) string {
	return fit.Cut(fit.OneLine(strings.ToValidUTF8(text, "\uFFFD")), maxText)
}
