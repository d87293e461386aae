package builtin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain/tool"
)

// While a person thinks about a host, the command's time would have run out.
func TestTheTimeOfAQuestionIsNotTheCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, c := newClock(context.Background(), time.Minute)
		defer c.stop()
		<-time.After(50 * time.Second)
		c.hold()
		c.hold() // a second host
		<-time.After(time.Hour)
		c.goOn()
		<-time.After(time.Hour)
		c.goOn()
		<-time.After(9 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("the time ran out while somebody thought: 59 seconds of its own have passed")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), tool.ErrTimeout) {
			t.Errorf("after 61 seconds of its own the command may still run: %v", context.Cause(ctx))
		}
	})
}
