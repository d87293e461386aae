// Package model holds the neutral words between Parley and any language model:
// messages, tools, a request, the events that come back, and the Provider that
// turns the one into the other.
//
// It has no I/O and no policy. The providers beside it (offline, anthropic,
// openai) implement [Provider]; the run loop in package brain, conversations and
// tasks speak only these types, so that a model can be swapped without anyone
// else noticing.
//
//	for ev, err := range provider.Stream(ctx, req) {
//		if err != nil { return err }   // *model.Error says whether to retry
//		switch ev.Kind { case model.Text: fmt.Print(ev.Text) … }
//	}
//
// A stream yields any mix of Text, Thinking and CallDelta events, then exactly
// one Done event, or an error in its place. Stopping the iteration or cancelling
// ctx ends the call at once.
package model
