package place

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/publicnet"
	"parley.internal/protocol/mmp"
)

// Caller calls other places over HTTP.
type Caller struct{ client *http.Client }

// maxPeerAnswer is far above a full list of agents.
const maxPeerAnswer = 64 << 20

// NewCaller makes a caller by a guard. It follows no redirect: the signature is for
// one place and one path.
func NewCaller(guard publicnet.Guard) *Caller {
	return &Caller{client: guard.Client(30 * time.Second)}
}

// Call makes one signed call.
func (c *Caller) Call(ctx context.Context, call place.OutboundCall) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, call.Method, call.URL+call.Target, bytes.NewReader(call.Body))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range map[string]string{
		mmp.HeaderPeer: call.Peer, mmp.HeaderTime: call.Time, mmp.HeaderNonce: call.Nonce, mmp.HeaderSignature: call.Sig,
	} {
		req.Header.Set(name, value)
	}
	if len(call.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPeerAnswer+1))
	if err == nil && len(body) > maxPeerAnswer {
		err = errors.New("the answer is too large")
	}
	return res.StatusCode, body, err
}

// Close gives idle connections back.
func (c *Caller) Close() { c.client.CloseIdleConnections() }
