package kibitz

// SignalType is what a signalling message is.
type SignalType string

// Kinds of signalling.
const (
	SignalOffer     SignalType = "offer"
	SignalAnswer    SignalType = "answer"
	SignalCandidate SignalType = "candidate"
	SignalBye       SignalType = "bye"
)

// Signal is the payload of a sig frame. The hub passes on this and nothing
// else, so that what it has judged is what arrives.
type Signal struct {
	Link      string     `json:"link"`
	Type      SignalType `json:"type"`
	SDP       string     `json:"sdp,omitzero"`
	Candidate Raw        `json:"candidate,omitzero"`
}

// ReadSignal reads the payload of a sig frame. The error is a [*Refusal].
func ReadSignal(raw Raw) (*Signal, error) {
	if len(raw) > MaxSignal {
		return nil, refuse(LimitSize, "signalling too large")
	}
	o, err := readObject(raw)
	if err != nil {
		return nil, refuse(ProtoBadFrame, "d is not an object")
	}
	s := &Signal{}
	link, okLink := o.text("link")
	kind, _ := o.text("type")
	s.Link, s.Type = link, SignalType(kind)
	sdp, okSDP := o.text("sdp")
	switch s.Type {
	case SignalOffer, SignalAnswer:
		s.SDP = sdp
	case SignalCandidate:
		s.Candidate = o["candidate"].Clone()
	case SignalBye:
	default:
		return nil, refuse(ProtoBadFrame, "unknown type of signalling")
	}
	describes := s.Type == SignalOffer || s.Type == SignalAnswer
	if !okLink || describes != okSDP || (describes && sdp == "") {
		return nil, refuse(ProtoBadFrame, "signalling has the wrong members")
	}
	return s, nil
}

// Encode writes the payload.
func (s *Signal) Encode() (Raw, error) { return marshal(s) }

// Judge checks a session description in the protocol's order: certificate,
// media at all, right to speak. What carries none always passes.
func (s *Signal) Judge(announced string, mediaOff bool, g Grant) error {
	if s.SDP == "" {
		return nil
	}
	fp, ok := SDPFingerprint(s.SDP)
	switch {
	case !ok || announced == "" || fp != NormalFingerprint(announced):
		return refuse(SigFingerprint, "not the certificate that was announced")
	case mediaOff && SDPHasMedia(s.SDP):
		return refuse(SigOff, "no media in this room")
	case SDPSends(s.SDP) && !g.Has(Speak):
		return Lacks(Speak)
	}
	return nil
}
