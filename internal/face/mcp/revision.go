package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Headers of the protocol.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
)

// firstAlone is the first revision whose requests need no session. Revisions are
// dates, so text compares them.
const firstAlone = "2026-07-28"

// versionMeta is where such a request names its revision.
const versionMeta = "io.modelcontextprotocol/protocolVersion"

// kind is how a request wants to be served.
type kind int

const (
	inSession kind = iota
	beginsSession
	standsAlone
)

// kindOf looks at the header, and where that does not tell, into the body, which
// is put back.
func (f *Face) kindOf(w http.ResponseWriter, r *http.Request) (kind, error) {
	if r.Header.Get(versionHeader) >= firstAlone {
		return standsAlone, nil
	}
	if r.Method != http.MethodPost {
		return inSession, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.limits.Body))
	if err != nil {
		return 0, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case namesRevision(body):
		return standsAlone, nil
	case r.Header.Get(sessionHeader) == "":
		return beginsSession, nil
	default:
		return inSession, nil
	}
}

// namesRevision reports whether a message carries its own revision.
func namesRevision(body []byte) bool {
	var message struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if !bytes.Contains(body, []byte(versionMeta)) || json.Unmarshal(body, &message) != nil {
		return false
	}
	_, named := message.Params.Meta[versionMeta]
	return named
}
