// Command goclient says one thing to an agent and prints what it answers. It is a
// module of its own and takes the SDK from your hub:
//
//	export GOPROXY=http://127.0.0.1:7777/sdk/go,https://proxy.golang.org GONOSUMDB=parley.internal
//	go get parley.internal/client/agentfirst@latest
//	go run . ~/.parley/parley.sock parley "Good morning"
package main

import (
	"context"
	"fmt"
	"os"

	"parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func main() {
	if err := chat(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func chat(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: goclient SOCKET AGENT TEXT")
	}
	c, err := agentfirst.Dial(ctx, "unix://"+args[0], agentfirst.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for event, err := range c.Stream(ctx, &wire.Turn{Agent: args[1], Content: args[2]}) {
		if err != nil {
			return err
		}
		fmt.Fprint(os.Stdout, event.GetChunk().GetContent())
		if end := event.GetEnd(); end != nil {
			fmt.Fprintln(os.Stdout)
			return agentfirst.EndError(end)
		}
	}
	return nil
}
