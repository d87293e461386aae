package hub

import (
	"context"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/files"
	"parley.internal/internal/pause"
)

// fileErrors are refusals of pictures, PDFs and voice notes.
var fileErrors = []front.Mapping{
	{Is: files.ErrNotFound, Status: http.StatusNotFound, Code: "not_found"},
	{Is: files.ErrTooLarge, Status: http.StatusRequestEntityTooLarge, Code: "file_too_large"},
	{Is: files.ErrQuota, Status: http.StatusRequestEntityTooLarge, Code: "file_quota"},
	{Is: files.ErrType, Status: http.StatusUnsupportedMediaType, Code: "file_type"},
	{Is: files.ErrTooMany, Status: http.StatusBadRequest, Code: "too_many_files"},
}

// sweepFiles is how often files are looked for that nobody used.
const sweepFiles = time.Hour

// openFiles makes the store of files, and removes from time to time what nobody used.
func (h *Hub) openFiles(context.Context) error {
	h.files = files.New(files.Deps{DB: h.db, Trail: h.trail, Limits: files.Limits{Size: h.conf.Files.MaxSize, Quota: h.conf.Files.Quota}})
	if h.opts.Quiet {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause.For(ctx, sweepFiles) == nil {
			if err := h.files.Sweep(ctx); err != nil && ctx.Err() == nil {
				h.logger.Warn("files that nobody uses could not be removed", "error", err)
			}
		}
	}()
	h.onClose(func() error {
		cancel()
		<-done
		return nil
	})
	return nil
}
