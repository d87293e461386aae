package agentfirst_test

import (
	"context"
	"fmt"
	"os"

	"parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func Example() {
	ctx := context.Background()
	c, err := agentfirst.Dial(ctx, "unix:///home/ann/.parley/parley.sock", agentfirst.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer c.Close()
	for event, err := range c.Stream(ctx, &wire.Turn{Agent: "parley", Content: "Good morning"}) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Print(event.GetChunk().GetContent())
		if err := agentfirst.EndError(event.GetEnd()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
