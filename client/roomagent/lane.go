package roomagent

import (
	"strings"

	"github.com/pion/webrtc/v4"
)

// Lane is one of a participant's media.
type Lane string

// The lanes, in the order of their sections on a link.
const (
	AudioLane  Lane = "audio"
	CameraLane Lane = "camera"
	ScreenLane Lane = "screen"
)

var laneOrder = []Lane{AudioLane, CameraLane, ScreenLane}

func (l Lane) kind() webrtc.RTPCodecType {
	if l == AudioLane {
		return webrtc.RTPCodecTypeAudio
	}
	return webrtc.RTPCodecTypeVideo
}

// laneOf finds the lane of a receiver by the place of its section.
func laneOf(pc *webrtc.PeerConnection, receiver *webrtc.RTPReceiver) (Lane, bool) {
	for i, t := range pc.GetTransceivers() {
		if i < len(laneOrder) && t.Receiver() == receiver {
			return laneOrder[i], true
		}
	}
	return "", false
}

// listening makes a description say that this side sends no media: sections are
// recvonly if it wants to receive, else inactive. An agent rarely may speak, and
// a section that says nothing counts as one that sends.
func listening(sdp string, receives bool) string {
	direction := "a=inactive"
	if receives {
		direction = "a=recvonly"
	}
	var out []string
	media := false
	for line := range strings.Lines(sdp) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "m="):
			media = strings.HasPrefix(line, "m=audio ") || strings.HasPrefix(line, "m=video ")
			out = append(out, line)
			if media {
				out = append(out, "") // the direction, once the section's connection line is past
			}
			continue
		case media && (line == "a=sendrecv" || line == "a=sendonly" || line == "a=recvonly" || line == "a=inactive"):
			continue
		}
		out = append(out, line)
	}
	return strings.Join(place(out, direction), "\r\n") + "\r\n"
}

// place puts the direction of each media section behind its c= line, where
// attributes may begin.
func place(lines []string, direction string) []string {
	out := make([]string, 0, len(lines))
	owed := false
	for _, line := range lines {
		if line == "" {
			owed = true
			continue
		}
		if owed && (strings.HasPrefix(line, "a=") || strings.HasPrefix(line, "m=")) {
			out = append(out, direction)
			owed = false
		}
		out = append(out, line)
	}
	if owed {
		out = append(out, direction)
	}
	return out
}
