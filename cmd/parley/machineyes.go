package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/internal/visible"
)

const (
	// lookAgain is how often a call that waits for a person's yes is looked at.
	lookAgain = time.Second
	// goodbye is how long taking a call back may take.
	goodbye = 10 * time.Second
)

// awaitYes waits until a call that the hub asks a person about has an outcome. Until
// then it can be taken back with Ctrl-C.
func awaitYes(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, a hubapi.CallAnswer) (hubapi.CallAnswer, error) {
	if a.State != hubapi.CallAsking {
		return a, nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "waits for a yes in the inbox: %s (on the page, or 'parley approvals approve' with another token)\nCtrl-C takes the call %s back\n", a.ApprovalID, a.CallID)
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		st, err := c.CallStatus(ctx, a.CallID)
		switch {
		case ctx.Err() != nil:
			return a, takeBack(ctx, c, a.CallID)
		case err != nil:
			return a, callFailed(err)
		case st.Error != nil:
			return a, &exitError{code: 3, text: st.Error.Code + ": " + visible.Line(st.Error.Message)}
		case st.State == hubapi.CallDone:
			return hubapi.CallAnswer{OK: true, CallID: a.CallID, Result: st.Result}, nil
		case st.State == hubapi.CallQueued:
			return hubapi.CallAnswer{OK: true, CallID: a.CallID, State: st.State, Expires: st.Expires}, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// takeBack cancels a call for somebody who pressed Ctrl-C.
func takeBack(ctx context.Context, c *hubapi.Client, call string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	st, err := c.CancelCall(ctx, call)
	switch {
	case err != nil:
		return &exitError{code: exitCancelled, text: fmt.Sprintf("the call %s could not be taken back: %v", call, err)}
	case st.State == hubapi.CallCancelled:
		return &exitError{code: exitCancelled, text: "cancelled: nothing ran"}
	}
	return &exitError{code: exitCancelled, text: fmt.Sprintf("too late: the call %s is %s", call, st.State)}
}
