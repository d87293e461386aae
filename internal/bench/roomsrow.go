package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"parley.internal/internal/bench/system"
)

// roomsRow: many small rooms.
func roomsRow() Row {
	return Row{Name: "rooms", What: "rooms of 5 members, 10,000 messages a second in all", Run: runRooms}
}

// Members of a small room, and what all rooms say together in a second.
const (
	seatsEach   = 5
	roomsPerSec = 10_000
)

func runRooms(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range env.affordable(pick(env, []int{200, 2_000}, []int{10}), seatsEach) {
		env.say("%s", count(n, "room"))
		r, err := roomsStep(ctx, env, n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

func roomsStep(ctx context.Context, env *Env, n int) (Result, error) {
	hub, err := env.start(ctx, "room", env.Dir, strconv.Itoa(n))
	if err != nil {
		return Result{}, err
	}
	defer hub.Stop()
	all, err := joinAll(ctx, hub.Hello.Addr, n*seatsEach, func(i int) string { return fmt.Sprint("room-", i/seatsEach) })
	defer func() {
		for _, m := range all {
			hangUp([]net.Conn{m.Conn})
		}
	}()
	if err != nil {
		return Result{}, err
	}
	people, err := gather(all)
	if err != nil {
		return Result{}, err
	}
	defer people.leave()
	// The first word of a room reserves numbers, on disk: it is no part of the pace.
	if _, err := people.chat(ctx, newChat(n, n, time.Second)); err != nil {
		return Result{}, err
	}
	before, err := hub.Usage(false)
	if err != nil {
		return Result{}, err
	}
	own := system.CPUTime()
	chat := newChat(n, pick(env, roomsPerSec, 500), pick(env, 5*time.Second, time.Second))
	late, err := people.chat(ctx, chat)
	if err != nil {
		return Result{}, err
	}
	own = system.CPUTime() - own
	after, err := hub.Usage(false)
	if err != nil {
		return Result{}, err
	}
	slices.Sort(late)
	// The target is asked of 200 rooms; more of them show how the cost grows.
	most := 50 * time.Millisecond
	if n > 200 {
		most = 0
	}
	r := atMost(count(n, "room")+" × 5, p99 from sending to hearing", took(late[len(late)*99/100]), float64(most))
	r.cost = (after.CPU - before.CPU) / time.Duration(chat.words)
	r.Note = fmt.Sprintf("%s messages, %s heard; server CPU per message (4 hear it) %s, of those who speak and hear %s", thousands(int64(chat.words)), thousands(int64(len(late))), took(r.cost), took(own/time.Duration(chat.words)))
	return r, nil
}

// chat is who speaks when: the first member of each room in turn, at a steady pace.
type chat struct {
	rooms, words int
	d            time.Duration
}

func newChat(rooms, perSecond int, d time.Duration) chat {
	each := max(1, int(float64(perSecond)/float64(rooms)*d.Seconds()))
	return chat{rooms, rooms * each, d}
}

// due is when a word is spoken.
func (c chat) due(word int) time.Duration {
	return time.Duration(float64(c.d) * float64(word) / float64(c.words))
}

// speaker is the place of the member who says a word.
func (c chat) speaker(word int) int { return word % c.rooms * seatsEach }

// said is a frame that says when it was sent; buf is used again.
func said(buf []byte, n int, at time.Duration) []byte {
	b := append(buf[:0], 0x81, 0, 0, 0, 0, 0) // masked by zero
	b = append(strconv.AppendInt(append(b, `{"t":"send","n":`...), int64(n)+1, 10), `,"c":{"k":"app","data":`...)
	b = append(strconv.AppendInt(b, int64(at), 10), "}}"...)
	b[1] = 0x80 | byte(len(b)-6)
	return b
}

// spokenAt finds the number that a speaker sent.
func spokenAt(data []byte) (time.Duration, error) {
	_, after, _ := bytes.Cut(data, []byte(`"data":`))
	digits, _, _ := bytes.Cut(after, []byte("}"))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Duration(n), err
}
