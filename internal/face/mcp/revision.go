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
func (f *Face) kindOf(w http.ResponseWriter, r *http.Request) (kind, message, error) {
	var m message
	if r.Header.Get(versionHeader) >= firstAlone {
		return standsAlone, m, nil
	}
	if r.Method != http.MethodPost {
		return inSession, m, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.limits.Body))
	if err != nil {
		return 0, m, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if json.Unmarshal(body, &m) != nil {
		m = message{} // the library says what is wrong
	}
	switch {
	case m.namesRevision():
		return standsAlone, m, nil
	case r.Header.Get(sessionHeader) == "":
		return beginsSession, m, nil
	default:
		return inSession, m, nil
	}
}
