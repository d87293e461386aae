package talk

import (
	"context"
	"slices"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/protocol/agentfirst"
)

// titleSystem opens every title request, and nothing else.
const titleSystem = "Summarize this conversation in a title of at most 60 characters, in its own language. Answer with the title only."

// titleLater asks a model for a title in the background, for agents that want
// that. The rule has titled the conversation already.
func (c *conversation) titleLater() {
	agent, err := c.t.agent(c.key.Agent)
	if err != nil || !agent.AutoTitle || c.isEnding() {
		return
	}
	msgs := slices.Clone(c.window.read(reading{name: c.key.Agent, toolMax: 0}))
	c.t.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.t.ctx, 2*time.Minute)
		defer cancel()
		m, err := c.t.d.Models.Resolve(agent.Model)
		if err != nil {
			return
		}
		text, _, err := c.t.once(ctx, agent, m, model.Request{Purpose: model.ForTitle, System: titleSystem, Messages: msgs})
		title := agentfirst.Title(text)
		if err != nil || title == "" {
			c.t.d.Log.Info("no title from the model", "conversation", c.id, "error", err)
			return
		}
		if err := c.t.d.Memory.SetTitle(ctx, c.id, title); err != nil {
			c.t.d.Log.Warn("cannot store a title", "conversation", c.id, "error", err)
			return
		}
		c.feed.publish(Event{Kind: Titled, Text: title})
	})
}
