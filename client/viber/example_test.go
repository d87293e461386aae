package viber_test

import (
	"context"
	"fmt"

	client "parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
)

// Submit a goal, print what the agent says and allow everything it asks for.
func ExampleClient_Submit() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "ws://127.0.0.1:7788/ws", client.Options{Token: "prl_…"})
	if err != nil {
		return
	}
	defer c.Close()
	task, err := c.Submit(ctx, &wire.TaskSubmit{
		Goal: "Run the tests", Options: &wire.TaskOptions{StreamDeltas: true},
	})
	if err != nil {
		return
	}
	for m, err := range task.Events(ctx) {
		if err != nil {
			return // we lost sight of the task
		}
		switch p := m.Body.(type) {
		case *wire.TaskDelta:
			fmt.Print(p.Text)
		case *wire.ApprovalRequired:
			if _, err := c.Approve(ctx, p.ApprovalID); err != nil {
				return
			}
		case *wire.TaskCompleted:
			fmt.Println(p.Result.Summary)
		}
	}
}
