package roomagent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"parley.internal/protocol/kibitz"
)

// PeerVariable makes the test program an agent on a mesh instead: its value is the
// room's link, the agent's name and its key.
const PeerVariable = "PARLEY_TEST_MESH_PEER"

// bePeer is that agent. It broadcasts the lines it reads, or sends "@ID LINE" to
// one, and writes what it hears.
func bePeer(config string) error {
	parts := strings.SplitN(config, " ", 3)
	key, err := kibitz.ParsePrivateKey(kibitz.Raw(parts[2]))
	if err != nil {
		return err
	}
	ctx := context.Background()
	mesh, err := DialMesh(ctx, parts[0], DialOptions{Name: parts[1], Key: key})
	if err != nil {
		return err
	}
	fmt.Println("self", mesh.Self().ID)
	mesh.OnLink(func(id string) { fmt.Println("linked", id) })
	mesh.OnMessage(func(d json.RawMessage, from string) { fmt.Println("heard", from, string(d)) })
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		to, text := "", lines.Text()
		if rest, ok := strings.CutPrefix(text, "@"); ok {
			to, text, _ = strings.Cut(rest, " ")
		}
		if err := mesh.SendTo(ctx, to, json.RawMessage(text)); err != nil {
			return err
		}
	}
	return mesh.Leave()
}
