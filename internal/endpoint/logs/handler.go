package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"parley.internal/client/kenny"
	wire "parley.internal/protocol/kenny"
)

// Tee hands every record to all handlers that want it.
func Tee(handlers ...slog.Handler) slog.Handler { return tee(handlers) }

type tee []slog.Handler

// Enabled implements slog.Handler.
func (t tee) Enabled(ctx context.Context, l slog.Level) bool {
	for _, h := range t {
		if h.Enabled(ctx, l) {
			return true
		}
	}
	return false
}

// Handle implements slog.Handler.
func (t tee) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, h := range t {
		if h.Enabled(ctx, r.Level) {
			errs = append(errs, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

// WithAttrs implements slog.Handler.
func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make(tee, len(t))
	for i, h := range t {
		out[i] = h.WithAttrs(attrs)
	}
	return out
}

// WithGroup implements slog.Handler.
func (t tee) WithGroup(name string) slog.Handler {
	out := make(tee, len(t))
	for i, h := range t {
		out[i] = h.WithGroup(name)
	}
	return out
}

// Handler puts records at or above a level into the ring.
func (r *Ring) Handler(level slog.Leveler) slog.Handler { return &ringHandler{ring: r, level: level} }

type ringHandler struct {
	ring   *Ring
	level  slog.Leveler
	prefix string
	attrs  []slog.Attr // with their prefixes
}

// Enabled implements slog.Handler.
func (h *ringHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle implements slog.Handler.
func (h *ringHandler) Handle(_ context.Context, r slog.Record) error {
	fields := map[string]any{}
	for _, a := range h.attrs {
		put(fields, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		put(fields, h.prefix, a)
		return true
	})
	if len(fields) == 0 {
		fields = nil
	}
	h.ring.Add(kenny.Record{At: r.Time, Level: level(r.Level), Target: target(r.PC), Message: r.Message, Fields: fields})
	return nil
}

// WithAttrs implements slog.Handler.
func (h *ringHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = append([]slog.Attr(nil), h.attrs...)
	for _, a := range attrs {
		a.Key = h.prefix + a.Key
		next.attrs = append(next.attrs, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *ringHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.prefix += name + "."
	return &next
}

// put flattens groups into dotted keys and makes every value one JSON knows.
func put(fields map[string]any, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	key := prefix + a.Key
	switch v.Kind() {
	case slog.KindGroup:
		for _, sub := range v.Group() {
			put(fields, key+".", sub)
		}
	case slog.KindBool:
		fields[key] = v.Bool()
	case slog.KindInt64:
		fields[key] = v.Int64()
	case slog.KindUint64:
		fields[key] = v.Uint64()
	case slog.KindTime:
		fields[key] = v.Time().UTC().Format(time.RFC3339Nano)
	default:
		fields[key] = strings.ToValidUTF8(v.String(), "\uFFFD")
	}
}

// levelTrace is below debug, as other logging systems have it.
const levelTrace = slog.LevelDebug - 4

func level(l slog.Level) wire.Level {
	switch {
	case l >= slog.LevelError:
		return wire.LevelError
	case l >= slog.LevelWarn:
		return wire.LevelWarn
	case l >= slog.LevelInfo:
		return wire.LevelInfo
	case l >= slog.LevelDebug:
		return wire.LevelDebug
	}
	return wire.LevelTrace
}

// ParseLevel reads a level as the protocol spells it.
func ParseLevel(s string) (slog.Level, error) {
	switch wire.Level(strings.ToLower(s)) {
	case wire.LevelError:
		return slog.LevelError, nil
	case wire.LevelWarn:
		return slog.LevelWarn, nil
	case wire.LevelInfo, "":
		return slog.LevelInfo, nil
	case wire.LevelDebug:
		return slog.LevelDebug, nil
	case wire.LevelTrace:
		return levelTrace, nil
	}
	return 0, fmt.Errorf("log level %q is none of error, warn, info, debug, trace", s)
}

// target is the package a record comes from.
func target(pc uintptr) string {
	if pc == 0 {
		return "endpoint"
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := frame.Function
	slash := strings.LastIndexByte(name, '/')
	if dot := strings.IndexByte(name[slash+1:], '.'); dot >= 0 {
		name = name[:slash+1+dot]
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "parley.internal/"), "internal/")
	if name == "" {
		return "endpoint"
	}
	return name
}
