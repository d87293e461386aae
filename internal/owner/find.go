package owner

import (
	"context"
	"time"
)

// findTime is how long a hub may take to say whether it has a thing.
const findTime = 5 * time.Second

// find asks all hubs for a thing that is bound to one; "" if none has it. The first that
// says yes is believed; one that hangs delays only who looks for what is nowhere.
func (ts *Things[T, Q, A]) find(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	others, err := ts.others(ctx)
	if err != nil {
		return "", err
	}
	found := make(chan string, len(others))
	for _, hub := range others {
		go func() {
			if _, err := ts.post.request(ctx, hub, head{Op: opFind, Thing: id}, nil); err != nil {
				hub = ""
			}
			found <- hub
		}()
	}
	for range others {
		if hub := <-found; hub != "" {
			return hub, nil
		}
	}
	return "", ctx.Err()
}

// others are the other hubs that live.
func (ts *Things[T, Q, A]) others(ctx context.Context) (hubs []string, err error) {
	if !ts.d.Clustered {
		return nil, nil
	}
	all, err := ts.d.Leases.Living(ctx)
	for _, hub := range all {
		if hub != ts.post.hub {
			hubs = append(hubs, hub)
		}
	}
	return hubs, err
}
