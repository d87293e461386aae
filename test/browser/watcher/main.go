// Command watcher is a Go agent that sits in a room by its key and says, a JSON
// line each, how large the pictures are that it is sent: the browser tests tell
// the real screen from the placeholder by that.
//
//	watcher LINK KEYFILE
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pion/webrtc/v4"

	"parley.internal/client/roomagent"
	"parley.internal/protocol/kibitz"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "watcher:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(link, keyFile string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	key, err := kibitz.ParsePrivateKey(text)
	if err != nil {
		return err
	}
	mesh, err := roomagent.DialMesh(context.Background(), link, roomagent.DialOptions{
		Name: "Watcher", Key: key, Meta: map[string]any{"role": "agent"},
		OnTrack: func(_ string, lane roomagent.Lane, track *webrtc.TrackRemote) { go watch(lane, track) },
	})
	if err != nil {
		return err
	}
	defer func() { _ = mesh.Leave() }()
	_, err = os.Stdin.Read(make([]byte, 1)) // until the test closes it
	return err
}

// watch tells of every change of the picture's size.
func watch(lane roomagent.Lane, track *webrtc.TrackRemote) {
	out := json.NewEncoder(os.Stdout)
	last := ""
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		size, ok := keyFrame(packet.Payload)
		if ok && size != last {
			last = size
			_ = out.Encode(map[string]string{"lane": string(lane), "codec": track.Codec().MimeType, "size": size})
		}
	}
}

// keyFrame reads the size of the picture that a VP8 key frame begins (RFC 7741,
// RFC 6386).
func keyFrame(p []byte) (size string, ok bool) {
	if len(p) < 1 || p[0]&0x10 == 0 || p[0]&0x07 != 0 { // not the start of the first partition
		return "", false
	}
	at := 1
	if p[0]&0x80 != 0 && len(p) > 1 { // extended
		ext := p[1]
		at++
		if ext&0x80 != 0 { // picture id, of one byte or two
			if len(p) > at && p[at]&0x80 != 0 {
				at++
			}
			at++
		}
		if ext&0x40 != 0 {
			at++
		}
		if ext&0x30 != 0 {
			at++
		}
	}
	if len(p) < at+10 || p[at]&1 != 0 || p[at+3] != 0x9d || p[at+4] != 0x01 || p[at+5] != 0x2a {
		return "", false
	}
	w := (int(p[at+6]) | int(p[at+7])<<8) & 0x3fff
	h := (int(p[at+8]) | int(p[at+9])<<8) & 0x3fff
	return fmt.Sprintf("%dx%d", w, h), true
}
