package kibitz

import "strings"

// SDP is read here only for what grants and pinned certificates ask. In doubt
// it counts as sending: a text two parsers read differently must not pass.

// SDPHasMedia tells whether a session description has an audio or video section.
func SDPHasMedia(sdp string) bool {
	media, _ := scanSDP(sdp)
	return media
}

// SDPSends tells whether an audio or video section sends, which needs the
// right to speak. A section without a direction sends; a direction for the
// whole session does not count, because not every reader knows it; a section
// with several sends if one of them does.
func SDPSends(sdp string) bool {
	_, sends := scanSDP(sdp)
	return sends
}

func scanSDP(sdp string) (media, sends bool) {
	var s sdpSection
	for line := range sdpLines(sdp) {
		if name, ok := cutFold(line, "m="); ok {
			sends = sends || s.sends()
			s = sdpSection{media: isMedia(name)}
			media = media || s.media
			continue
		}
		if name, ok := cutFold(line, "a="); ok {
			s.attribute(name)
		}
	}
	return media, sends || s.sends()
}

// sdpSection is what was seen since the last m= line.
type sdpSection struct{ media, sending, silent bool }

func (s *sdpSection) attribute(name string) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "sendrecv", "sendonly":
		s.sending = true
	case "recvonly", "inactive":
		s.silent = true
	}
}

func (s *sdpSection) sends() bool { return s.media && (s.sending || !s.silent) }

func isMedia(name string) bool {
	kind, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(name, "\t", " ")), " ")
	return strings.EqualFold(kind, "audio") || strings.EqualFold(kind, "video")
}

// sdpLines gives the lines, however they end.
func sdpLines(sdp string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.FieldsFuncSeq(sdp, func(r rune) bool { return r == '\r' || r == '\n' || r == 0 }) {
			if !yield(strings.TrimSpace(line)) {
				return
			}
		}
	}
}

func cutFold(line, prefix string) (string, bool) {
	if len(line) < len(prefix) || !strings.EqualFold(line[:len(prefix)], prefix) {
		return "", false
	}
	return line[len(prefix):], true
}

// SDPFingerprint gives the one SHA-256 certificate fingerprint of a session
// description, in normal form. None, another hash or two different ones is no
// answer.
func SDPFingerprint(sdp string) (string, bool) {
	found := ""
	for line := range sdpLines(sdp) {
		value, ok := cutFold(line, "a=fingerprint:")
		if !ok {
			continue
		}
		hash, fp, _ := strings.Cut(strings.TrimSpace(value), " ")
		fp = NormalFingerprint(fp)
		if !strings.EqualFold(hash, "sha-256") || !ValidFingerprint(fp) || (found != "" && found != fp) {
			return "", false
		}
		found = fp
	}
	return found, found != ""
}
