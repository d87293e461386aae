package kibitz

// EnvelopeKey is the reserved member of app data.
const EnvelopeKey = "__kib_agent"

// Envelope is what kind of agent message app data is.
type Envelope string

// Kinds of envelopes. EnvelopeNone is raw app data.
const (
	EnvelopeNone Envelope = ""
	EnvelopeChat Envelope = "chat"
	EnvelopeView Envelope = "view"
	EnvelopeAct  Envelope = "act"
)

// EnvelopeOf tells the envelope of app data: an object whose reserved member
// is a string is one, everything else is raw. An unknown kind is given back
// as it is, and relayed like raw data.
func EnvelopeOf(data Raw) Envelope {
	if data.Kind() != '{' {
		return EnvelopeNone
	}
	o, err := readObject(data)
	if err != nil {
		return EnvelopeNone
	}
	s, _ := o.text(EnvelopeKey)
	return Envelope(s)
}

// ChatEnvelope wraps a line.
func ChatEnvelope(text string) (Raw, error) {
	return marshal(struct {
		K    Envelope `json:"__kib_agent"`
		Text string   `json:"text"`
	}{EnvelopeChat, text})
}

// ViewEnvelope wraps a snapshot of an app's state.
func ViewEnvelope(view Raw) (Raw, error) {
	return marshal(struct {
		K    Envelope `json:"__kib_agent"`
		View Raw      `json:"view"`
	}{EnvelopeView, view})
}

// ActEnvelope wraps a request to an app.
func ActEnvelope(action Raw) (Raw, error) {
	return marshal(struct {
		K      Envelope `json:"__kib_agent"`
		Action Raw      `json:"action"`
	}{EnvelopeAct, action})
}

// OpenEnvelope gives the payload of a chat (a JSON string), view or act; nil
// for anything else.
func OpenEnvelope(data Raw) (Envelope, Raw) {
	e := EnvelopeOf(data)
	member := map[Envelope]string{EnvelopeChat: "text", EnvelopeView: "view", EnvelopeAct: "action"}[e]
	o, err := readObject(data)
	if err != nil || member == "" {
		return e, nil
	}
	return e, o[member].Clone()
}
