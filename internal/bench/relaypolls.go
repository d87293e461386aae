package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// What a waiting poll and a registration may take of the hub's memory, and how long
// a poll may take to hear of a message.
const (
	pollMost         = 20_000
	registrationMost = 1_000
	wakeMost         = 20 * time.Millisecond
)

// relayPolls: thousands wait for messages, some get one.
func relayPolls(ctx context.Context, env *Env) ([]Result, error) {
	can := env.affordable([]int{pick(env, 10_000, 100)}, 1)
	if len(can) == 0 {
		return nil, nil
	}
	n := can[0]
	r, err := openRelay(ctx, env, "polls")
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.warm(200); err != nil {
		return nil, err
	}
	before, err := r.hub.Usage(true)
	if err != nil {
		return nil, err
	}
	env.say("%s wait", count(n, "poll"))
	polls, err := r.poll(ctx, n)
	if err != nil {
		return nil, err
	}
	defer hangUp(polls)
	after, err := r.hub.Usage(true)
	if err != nil {
		return nil, err
	}
	results := []Result{}
	if before.RSS > 0 {
		results = append(results, atMost("memory of a waiting poll, "+thousands(int64(n))+" of them", Figure{float64(after.RSS-before.RSS) / float64(n), Bytes}, pollMost))
	}
	took, err := r.wake(polls, pick(env, 1_000, 50))
	if err != nil {
		return results, err
	}
	woken := atMost("from sending to the poll's answer, p99", Figure{float64(took[len(took)*99/100]), Nanos}, float64(wakeMost))
	woken.Note = fmt.Sprintf("p50 %s; the flush of the disk is in it, %d at a time", Figure{float64(took[len(took)/2]), Nanos}, wakers)
	return append(results, woken), nil
}

// warm has the hub make what all requests share.
func (r *relayed) warm(times int) error {
	for i := range times {
		if err := r.send(i%len(r.conns), "warm"+strconv.Itoa(i)); err != nil {
			return err
		}
		if err := r.receive(i%len(r.conns), "warm"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// poll opens n polls, each of an agent of its own, and waits until all wait.
func (r *relayed) poll(ctx context.Context, n int) ([]net.Conn, error) {
	polls, err := dialAll(ctx, n, dialTCP(r.conns[0].addr))
	if err != nil {
		return nil, err
	}
	for i, c := range polls {
		if _, err := fmt.Fprintf(c, "GET /place/v1/relay/receive?agent_id=w%d&wait=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", i); err != nil {
			hangUp(polls)
			return nil, err
		}
	}
	// Nobody tells when the last one waits; it is long before this.
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	return polls, ctx.Err()
}

// wakers is how many messages are on their way to polls at once.
const wakers = 8

// wake sends to some of the polls and tells how long each took to hear of it.
func (r *relayed) wake(polls []net.Conn, times int) ([]time.Duration, error) {
	took := make([][]time.Duration, wakers)
	var g errgroup.Group
	for who := range wakers {
		g.Go(func() error {
			for i := who; i < times; i += wakers {
				at := i * len(polls) / times
				heard := make(chan error, 1)
				var end time.Time
				go func() {
					status, _, err := (&relayConn{in: bufio.NewReader(polls[at])}).answer()
					if end = time.Now(); err == nil && status != 200 {
						err = fmt.Errorf("a poll was answered with %d", status)
					}
					heard <- err
				}()
				began := time.Now()
				if err := errors.Join(r.send(who, "w"+strconv.Itoa(at)), <-heard); err != nil {
					return err
				}
				took[who] = append(took[who], end.Sub(began))
			}
			return nil
		})
	}
	err := g.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if err == nil && len(all) == 0 {
		err = errors.New("nothing was sent")
	}
	return all, err
}

// relayMemory: what a registration takes of the hub's memory.
func relayMemory(ctx context.Context, env *Env) ([]Result, error) {
	r, err := openRelay(ctx, env, "registered")
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.register(1_000); err != nil {
		return nil, err
	}
	before, err := r.hub.Usage(true)
	if err != nil || before.RSS == 0 {
		return nil, err
	}
	n := pick(env, 200_000, 2_000)
	env.say("%s", count(n, "registration"))
	if err := r.register(n); err != nil {
		return nil, err
	}
	after, err := r.hub.Usage(true)
	return []Result{atMost("memory of a registration, "+thousands(int64(n))+" of them", Figure{float64(after.RSS-before.RSS) / float64(n), Bytes}, registrationMost)}, err
}

// register lets that many agents in.
func (r *relayed) register(n int) error {
	last := r.next.Load() + int64(n)
	w := writing{inFlight: 64, write: func(who int) error {
		i := r.next.Add(1)
		if i > last {
			return errFull
		}
		return r.conns[who].call("POST /place/v1/register", 200, `{"id":"agent-`+strconv.FormatInt(i, 10)+`","name":"An agent","description":"of the bench","scope":"general"}`)
	}}
	if _, _, err := w.run(time.Hour); !errors.Is(err, errFull) {
		return err
	}
	return nil
}
