package wsconn_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/wsconn"
)

// within allows the wheel's tick, and the visit interval for what it only notices when it looks.
func within(t *testing.T, what string, got, want, slack time.Duration) {
	t.Helper()
	if got < want || got > want+slack {
		t.Errorf("%s after %v, want %v", what, got, want)
	}
}

const tick = 200 * time.Millisecond

func TestPingsAreSentAndSilenceEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{
			Ping:    wsconn.Heartbeat{Every: 30 * time.Second},
			Silence: wsconn.Silence{After: 75 * time.Second, Close: wsconn.Close{Code: 4408, Reason: "silent"}},
		})
		defer g.Close()
		h := &script{closed: make(chan wsconn.Ended, 1)}
		_, p := pipeConn(t, g, h)
		start := time.Now()
		for i := range 3 {
			p.want("9:")
			within(t, "ping", time.Since(start), time.Duration(i+1)*30*time.Second, tick*time.Duration(i+1))
			p.send(frame(true, 10, ""))
		}
		last := time.Now()
		p.want("9:", "9:", "8:4408 silent", "end")
		within(t, "hung up", time.Since(last), 77*time.Second, 3*tick)
		if how := <-h.closed; how.Code != 4408 || how.ByPeer {
			t.Errorf("handler was told %+v", how)
		}
		if n := g.Metrics().Silences.Load(); n != 1 {
			t.Errorf("counted %d", n)
		}
	})
}

func TestAProtocolsOwnPingIsOnlySentInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{
			Ping:    wsconn.Heartbeat{Every: 30 * time.Second, WhenSilent: true, Send: func(c *wsconn.Conn) { _ = c.SendText([]byte("ping")) }},
			Silence: wsconn.Silence{After: 90 * time.Second, Close: wsconn.Close{Code: 4408}},
		})
		defer g.Close()
		_, p := pipeConn(t, g, &script{})
		for range 10 { // a busy peer is not asked
			<-time.After(20 * time.Second)
			p.send(text("x"))
		}
		last := time.Now()
		p.want("1:ping")
		within(t, "first ping", time.Since(last), 30*time.Second, tick)
		p.want("1:ping")
		within(t, "second ping", time.Since(last), 60*time.Second, 2*tick)
		p.want("8:4408 ")
		within(t, "close", time.Since(last), 90*time.Second, 2*tick)
	})
}

func TestPongsCarryThePingsPayload(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{})
	p := s.rawDial()
	p.send(frame(true, 9, "abc"))
	p.want("10:abc")
	c := s.dial()
	ctx := c.CloseRead(t.Context())
	if err := c.Ping(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestTimeInAHandlerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{Silence: wsconn.Silence{After: time.Second}, MessageTimeout: time.Second})
		defer g.Close()
		_, p := pipeConn(t, g, &script{message: func(c *wsconn.Conn, k wsconn.Kind, d []byte) {
			<-time.After(time.Minute)
			echo(c, k, d)
		}})
		p.send(text("slow")[:5])
		p.send(text("slow")[5:])
		p.want("1:slow")
	})
}

func TestAMessageMustArriveInTime(t *testing.T) {
	for name, dribble := range map[string][]byte{
		"one frame": text("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
		"fragments": join(frame(false, 1, ""), frame(false, 0, ""), frame(false, 0, ""), frame(false, 0, ""), frame(false, 0, ""), frame(false, 0, "")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := wsconn.NewGroup(wsconn.Options{MessageTimeout: 10 * time.Second})
				defer g.Close()
				h := &script{closed: make(chan wsconn.Ended, 1)}
				_, p := pipeConn(t, g, h)
				start := time.Now()
				var dribbler sync.WaitGroup
				defer dribbler.Wait()
				dribbler.Go(func() {
					for _, b := range dribble {
						if _, err := p.Write([]byte{b}); err != nil {
							return
						}
						<-time.After(time.Second)
					}
				})
				p.want("8:1008 message took too long")
				within(t, "close", time.Since(start), 10*time.Second, 7*time.Second)
				_ = p.Close()
				<-h.closed
			})
		})
	}
}

func TestManySmallMessagesAreNotOneLongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{MessageTimeout: 10 * time.Second})
		defer g.Close()
		_, p := pipeConn(t, g, &script{message: echo})
		p.send(text("hello")[:3]) // before the sender, which goes on from there
		var sender sync.WaitGroup
		defer sender.Wait()
		sender.Go(func() { // every write ends inside a frame
			b := text("hello")
			for range 100 {
				if _, err := p.Write(append(append([]byte{}, b[3:]...), b[:3]...)); err != nil {
					return
				}
				<-time.After(time.Second)
			}
		})
		for range 60 {
			p.want("1:hello")
		}
		_ = p.Close()
	})
}

func TestAPeerThatTakesNothingIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{WriteTimeout: 10 * time.Second, Overflow: wsconn.Close{Code: 4013, Reason: "slow"}})
		defer g.Close()
		h := &script{closed: make(chan wsconn.Ended, 1)}
		c, _ := pipeConn(t, g, h)
		start := time.Now()
		if err := c.SendText([]byte("x")); err != nil {
			t.Fatal(err)
		}
		how := <-h.closed
		within(t, "hung up", time.Since(start), 10*time.Second, 5*time.Second+tick)
		if how.Code != 4013 || !errors.Is(how.Err, os.ErrDeadlineExceeded) {
			t.Errorf("handler was told %+v", how)
		}
	})
}

func TestADeadlineFiresOnceUnlessRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{})
		defer g.Close()
		c, p := pipeConn(t, g, &script{}, func(c *wsconn.Conn) {
			c.SetDeadline(15*time.Second, func(c *wsconn.Conn) { t.Error("replaced deadline fired") })
		})
		start := time.Now()
		c.SetDeadline(10*time.Second, func(c *wsconn.Conn) { _ = c.SendText([]byte("late")) })
		p.want("1:late")
		within(t, "deadline", time.Since(start), 10*time.Second, tick)
		c.SetDeadline(time.Second, func(*wsconn.Conn) { t.Error("removed deadline fired") })
		c.SetDeadline(0, nil)
		<-time.After(time.Minute)
		c.SetDeadline(2*time.Minute, func(c *wsconn.Conn) { _ = c.Close(4408, "too late") })
		start = time.Now()
		p.want("8:4408 too late")
		within(t, "long deadline", time.Since(start), 2*time.Minute, tick)
	})
}
