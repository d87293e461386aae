package kibitz

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func trim(s string) string { return strings.TrimSpace(s) }

// Check applies the limits of the kind and gives what is relayed: known
// fields only, opaque values token for token. directed tells that the message
// has a recipient. The error is a [*Refusal].
func (c *Content) Check(sealedRoom, directed bool) (Raw, error) {
	switch {
	case c.Box && !sealedRoom:
		return nil, refuse(SealUnexpected, "this room is not sealed")
	case !c.Box && sealedRoom:
		return nil, refuse(SealRequired, "this room is sealed")
	case c.Kind == ContentSchema && directed:
		return nil, refuse(ContentBad, "a schema goes to everybody")
	}
	wire, err := c.checkKind()
	if err != nil {
		return nil, err
	}
	if w, ok := wire.(appended); ok {
		return w.append(make([]byte, 0, 64+w.size())), nil
	}
	return marshal(wire)
}

// appended is content that is sent so often that it writes itself.
type appended interface {
	append(b []byte) []byte
	// size is about how much text it holds.
	size() int
}

type appContent struct{ data Raw }

func (w appContent) size() int { return len(w.data) }

func (w appContent) append(b []byte) []byte {
	return append(append(append(b, `{"k":"app","data":`...), w.data...), '}')
}

type chatContent struct {
	text string
	dm   bool
}

func (w chatContent) size() int { return len(w.text) }

func (w chatContent) append(b []byte) []byte {
	// The only possible error is bad UTF-8, which was replaced when it was read.
	b, _ = jsontext.AppendQuote(append(b, `{"k":"chat","text":`...), w.text)
	if w.dm {
		b = append(b, `,"dm":true`...)
	}
	return append(b, '}')
}

func (c *Content) checkKind() (any, error) {
	if c.Box && c.Kind != ContentSchema {
		return c.checkBox()
	}
	switch c.Kind {
	case ContentChat:
		return c.checkChat()
	case ContentApp:
		data, err := c.opaque("data")
		return appContent{data}, err
	case ContentPay:
		return c.checkPay()
	case ContentInk:
		return c.checkInk()
	}
	return c.checkSchema()
}

// opaque takes a value nobody looks into.
func (c *Content) opaque(key string) (Raw, error) {
	v, ok := c.o[key]
	if !ok {
		return nil, refuse(ContentBad, key+" is missing")
	}
	if deeper(v, MaxDepth) {
		return nil, refuse(ContentBad, key+" is nested too deeply")
	}
	v, err := compact(v)
	if err != nil {
		return nil, refuse(ContentBad, key+" is not JSON")
	}
	if len(v) > MaxApp {
		return nil, refuse(LimitSize, key+" is too large")
	}
	return v, nil
}

// text takes an optional string.
func (c *Content) text(key string) (string, error) {
	s, ok := c.o.text(key)
	if !ok && c.o.has(key) {
		return "", refuse(ContentBad, key+" is not a string")
	}
	return s, nil
}

// dm takes the mark of a private line, which is for display only.
func (c *Content) dm() bool { return truthy(c.o["dm"]) }

func (c *Content) checkChat() (any, error) {
	s, err := c.text("text")
	if err != nil {
		return nil, err
	}
	if s = trim(cut(s, MaxChat)); s == "" {
		return nil, refuse(ContentEmpty, "nothing to say")
	}
	return chatContent{s, c.dm()}, nil
}

func (c *Content) checkPay() (any, error) {
	link, err := c.text("url")
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(link); err != nil || u.Scheme != "https" || u.Host == "" || len(link) > MaxPayURL {
		return nil, refuse(ContentBad, "url is not a short https address")
	}
	label, err := c.text("label")
	if err != nil {
		return nil, err
	}
	return struct {
		K     ContentKind `json:"k"`
		URL   string      `json:"url"`
		Label string      `json:"label,omitzero"`
		DM    bool        `json:"dm,omitzero"`
	}{ContentPay, link, cut(label, MaxLabel), c.dm()}, nil
}

func (c *Content) checkInk() (any, error) {
	e, err := c.opaque("e")
	if err != nil {
		return nil, err
	}
	if len(e) > MaxInk {
		return nil, refuse(LimitSize, "e is too large")
	}
	if !inkEvent(e) {
		return nil, refuse(ContentBad, "e is no pointer, stroke or clear")
	}
	name, err := c.text("n")
	if err != nil {
		return nil, err
	}
	color, err := c.text("c")
	if err != nil {
		return nil, err
	}
	return struct {
		K ContentKind `json:"k"`
		E Raw         `json:"e"`
		N string      `json:"n,omitzero"`
		C string      `json:"c,omitzero"`
	}{ContentInk, e, cut(name, MaxName), cut(color, MaxColor)}, nil
}

// inkEvent knows the three things a pen does.
func inkEvent(e Raw) bool {
	if s, ok := unquote(e); ok {
		return s == "clear"
	}
	o, err := readObject(e)
	if err != nil || o.has("ptr") == o.has("draw") {
		return false
	}
	if o.has("ptr") {
		p, err := readObject(o["ptr"])
		return err == nil && p.point()
	}
	d, err := readObject(o["draw"])
	return err == nil && d.point() && d.has("sid")
}

func (o object) point() bool {
	_, x := o.number("x")
	_, y := o.number("y")
	return x && y
}

func (c *Content) checkSchema() (any, error) {
	name, okName := c.o.text("name")
	version, okVersion := c.o.text("version")
	name = trim(name)
	if n := utf8.RuneCountInString(name); !okName || n < 1 || n > MaxSchema {
		return nil, refuse(ContentBad, "name needs 1 to 120 characters")
	}
	if !okVersion || utf8.RuneCountInString(version) > MaxVersion {
		return nil, refuse(ContentBad, "version needs at most 64 characters")
	}
	wire := struct {
		K       ContentKind `json:"k"`
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Schema  Raw         `json:"schema,omitzero"`
		Box     string      `json:"box,omitzero"`
	}{K: ContentSchema, Name: name, Version: version}
	var err error
	if c.Box {
		wire.Box, err = c.box(MaxApp)
	} else {
		wire.Schema, err = c.opaque("schema")
	}
	return wire, err
}

// checkBox lets sealed chat and app content pass by its label.
func (c *Content) checkBox() (any, error) {
	most := MaxApp
	switch c.Kind {
	case ContentChat:
		most = MaxChatBox
	case ContentApp:
		if !sealLabel(c.e) {
			return nil, refuse(ContentBad, "e is not chat, view, act or data")
		}
	default:
		return nil, refuse(SealRequired, "this kind cannot be sealed")
	}
	box, err := c.box(most)
	return struct {
		K   ContentKind `json:"k"`
		E   string      `json:"e,omitzero"`
		Box string      `json:"box"`
	}{c.Kind, c.e, box}, err
}

// box takes the sealed bytes; that they open is for those who have the key.
func (c *Content) box(most int) (string, error) {
	s, ok := c.o.text("box")
	b, err := decodeBase64(s)
	if !ok || err != nil || len(b) < sealOverhead {
		return "", refuse(ContentBad, "box is not base64url of a sealed message")
	}
	if len(s) > most {
		return "", refuse(LimitSize, "box is too large")
	}
	return s, nil
}
