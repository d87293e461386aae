package modelhttp

import (
	"context"
	"io"
	"mime"
	"net/http"

	"parley.internal/internal/brain/model"
)

// maxWhole bounds an answer that comes in one piece.
const maxWhole = 32 << 20

// isWhole tells an answer in one piece from a stream: of a gateway that does not stream although
// it was asked to, or that says with a good status what went wrong.
func isWhole(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "application/json"
}

// readWhole reads such an answer.
func readWhole(provider string, ctx context.Context, w *Watchdog, resp *http.Response) ([]byte, *model.Error) { //nolint:revive // ctx is data here
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxWhole))
	if err != nil {
		return nil, fail(provider, ctx, w, err)
	}
	return raw, nil
}
