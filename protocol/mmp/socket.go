package mmp

import "strconv"

// Bounds of a frame's own members; its body has the bounds of the request it is.
const (
	MaxAskPath = 4096
	// MaxFrame leaves room around the largest body.
	MaxFrame = MaxRelayBody + 16<<10
)

// Ask is a request in one text frame of a WebSocket: it says what a request over HTTP
// says, and ID is by what its answers are known. A frame with an ID alone asks a request
// that is answered several times for its next answer.
type Ask struct {
	ID             string `json:"id"`
	Method         string `json:"method,omitzero"`
	Path           string `json:"path,omitzero"` // with the query
	Token          string `json:"token,omitzero"`
	IdempotencyKey string `json:"idempotency_key,omitzero"`
	Body           Raw    `json:"body,omitzero"`
	// Cancel ends the request of that ID.
	Cancel bool `json:"cancel,omitzero"`
}

// DecodeAsk reads a frame. The ID is there also when the rest is refused, if there is one.
func DecodeAsk(frame []byte) (Ask, error) {
	o := OpenObject(frame)
	a := Ask{
		ID: o.Text("id", 64), Method: o.Text("method", 16), Path: o.Text("path", MaxAskPath), Token: o.Text("token", 512),
		IdempotencyKey: o.Text("idempotency_key", MaxIdempotency), Cancel: o.Flag("cancel"), Body: o.Member("body"),
	}
	switch {
	case o.Err() != nil:
		return Ask{ID: a.ID}, o.Err()
	case a.ID == "":
		return Ask{}, InvalidField("id")
	case a.Method != "" && (len(a.Path) == 0 || a.Path[0] != '/'):
		return Ask{ID: a.ID}, InvalidField("path")
	}
	return a, nil
}

// Told is an answer in a frame.
type Told struct {
	ID     string `json:"id"`
	Status int    `json:"status"`
	Body   Raw    `json:"body,omitzero"`
}

// AppendTold writes an answer whose body is encoded already.
func AppendTold(to []byte, id string, status int, body []byte) ([]byte, error) {
	quoted, err := Encode(id)
	if err != nil {
		return to, err
	}
	to = append(append(to, `{"id":`...), quoted...)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(status), 10)
	if len(body) > 0 {
		to = append(append(to, `,"body":`...), body...)
	}
	return append(to, '}'), nil
}
