//go:build !linux

package bench

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// people are all members, each with goroutines of its own.
type people struct{ all []*roomMember }

func gather(all []*roomMember) (*people, error) { return &people{all}, nil }

// leave does nothing: whoever dialled hangs up.
func (*people) leave() {}

// chat says all words and returns how long each was on its way to each hearer,
// when all have heard and every speaker has its answers.
func (p *people) chat(_ context.Context, c chat) (late []time.Duration, err error) {
	began, each := time.Now(), c.words/c.rooms
	var mu sync.Mutex
	var g errgroup.Group
	// One that fails ends all: nobody waits for words that never come.
	hush := sync.OnceFunc(func() {
		for _, m := range p.all {
			_ = m.SetDeadline(began)
		}
	})
	run := func(f func() error) {
		g.Go(func() error {
			err := f()
			if err != nil {
				hush()
			}
			return err
		})
	}
	for i, m := range p.all {
		if i%seatsEach == 0 {
			run(func() error { return m.speak(began, c, i/seatsEach) })
			run(func() error { return m.drain(each) })
			continue
		}
		run(func() error {
			mine, err := m.listen(began, each)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, mine...)
			return err
		})
	}
	err = g.Wait()
	return late, err
}

// listen tells how long each of the next messages was on its way.
func (m *roomMember) listen(began time.Time, n int) ([]time.Duration, error) {
	late := make([]time.Duration, 0, n)
	for range n {
		data, err := m.content()
		if err != nil {
			return late, err
		}
		at, err := spokenAt(data)
		if err != nil {
			return late, err
		}
		late = append(late, time.Since(began)-at)
	}
	return late, nil
}

// speak says the words of one room.
func (m *roomMember) speak(began time.Time, c chat, room int) error {
	buf := make([]byte, 128)
	for word := room; word < c.words; word += c.rooms {
		time.Sleep(time.Until(began.Add(c.due(word))))
		if _, err := m.Write(said(buf, word, time.Since(began))); err != nil {
			return err
		}
	}
	return nil
}

// drain reads a speaker's acknowledgements.
func (m *roomMember) drain(n int) error {
	for range n {
		if err := m.until("ack"); err != nil {
			return err
		}
	}
	return nil
}
