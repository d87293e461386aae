package mcp

import (
	"context"
	"log/slog"
)

// asDebug is the library's voice in the hub's log: whatever it says, loud or not,
// is about what some client did, and of interest only to who looks for it.
type asDebug struct{ slog.Handler }

func quietly(log *slog.Logger) *slog.Logger { return slog.New(asDebug{log.Handler()}) }

// Enabled implements slog.Handler.
func (h asDebug) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (h asDebug) Handle(ctx context.Context, r slog.Record) error {
	r.Level, r.Message = slog.LevelDebug, "mcp: "+r.Message
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h asDebug) WithAttrs(attrs []slog.Attr) slog.Handler {
	return asDebug{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h asDebug) WithGroup(name string) slog.Handler { return asDebug{h.Handler.WithGroup(name)} }
