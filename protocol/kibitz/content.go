package kibitz

// ContentKind is the member k of content.
type ContentKind string

// Kinds of content.
const (
	ContentChat    ContentKind = "chat"
	ContentApp     ContentKind = "app"
	ContentPay     ContentKind = "pay"
	ContentInk     ContentKind = "ink"
	ContentSchema  ContentKind = "schema"
	contentCaps    ContentKind = "caps"
	contentIDToken ContentKind = "idtoken"
)

// sealedData is how a box says that it holds raw app data.
const sealedData = "data"

// Content is a message whose kind is known and whose fields are not yet
// judged: rights are asked first, so that a refusal tells nothing about limits.
//
//	c, err := OpenContent(send.C)    // known kind?
//	grant.Has(c.Right())             // may it?
//	wire, err := c.Check(sealed, to) // fields, limits; what goes out
type Content struct {
	Kind ContentKind
	// Envelope is that of app data, from the box's label when it is sealed.
	Envelope Envelope
	// Box tells that the content is sealed.
	Box bool

	o object
	// e is the label of a box as sent.
	e string
}

// OpenContent finds out what kind of content this is. The error is a [*Refusal].
func OpenContent(raw Raw) (*Content, error) {
	o, err := readObject(raw)
	if err != nil {
		return nil, refuse(ContentUnknown, "content is not an object")
	}
	k, _ := o.text("k")
	c := &Content{Kind: ContentKind(k), Box: o.has("box"), o: o}
	switch c.Kind {
	case ContentApp:
		c.findEnvelope()
		return c, nil
	case ContentChat, ContentPay, ContentInk, ContentSchema:
		return c, nil
	case contentCaps:
		return nil, refuse(GrantDenied, "only the hub sends caps")
	case contentIDToken:
		return nil, refuse(ContentControl, "not on the relay")
	}
	return nil, refuse(ContentUnknown, "unknown kind of content")
}

func (c *Content) findEnvelope() {
	if !c.Box {
		c.Envelope = EnvelopeOf(c.o["data"])
		return
	}
	c.e, _ = c.o.text("e")
	if c.e != sealedData {
		c.Envelope = Envelope(c.e)
	}
}

// Right is the capability the sender needs. A view also needs a publisher.
func (c *Content) Right() Capability {
	if c.Kind == ContentApp && c.Envelope == EnvelopeAct {
		return Act
	}
	return SendChat
}

// IsView tells whether only a publisher may send this.
func (c *Content) IsView() bool { return c.Kind == ContentApp && c.Envelope == EnvelopeView }

// Detail is the word of the audit trail for it.
func (c *Content) Detail() string {
	if c.Kind == ContentApp && (c.Envelope == EnvelopeAct || c.Envelope == EnvelopeView) {
		return string(c.Envelope)
	}
	return string(c.Kind)
}

// SchemaName is the trimmed name of a schema that passed Check.
func (c *Content) SchemaName() string {
	name, _ := c.o.text("name")
	return trim(name)
}
