package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	wire "parley.internal/protocol/kenny"
)

// Request is what a person's command asks for.
type Request struct {
	// Do is a mode to switch to, or empty to look only.
	Do Mode `json:"do,omitempty"`
	// List asks for the questions that wait.
	List bool `json:"list,omitempty"`
	// Answer is the number of a question to decide, with Yes or no.
	Answer int  `json:"answer,omitempty"`
	Yes    bool `json:"yes,omitempty"`
}

// Reply is the endpoint's answer.
type Reply struct {
	State State  `json:"state"`
	Error string `json:"error,omitempty"`
	// Waiting are the questions, if they were asked for.
	Waiting []Question `json:"waiting,omitempty"`
}

// talkWait bounds one exchange; it is a line each way.
const talkWait = 5 * time.Second

const (
	// maxLine bounds a request, so that nobody can make the endpoint grow.
	maxLine = 4 << 10
	// maxReply bounds an answer: as many questions as there can be.
	maxReply = maxOpen * wire.MaxRequest
)

// Server answers people on this machine.
type Server struct {
	sw       *Switch
	listener net.Listener
	work     sync.WaitGroup
}

// Listen opens the switch's socket or pipe for everybody on the machine.
func Listen(sw *Switch) (*Server, error) {
	l, err := listen(sw.folder)
	if err != nil {
		return nil, fmt.Errorf("the switch's socket: %w", err)
	}
	s := &Server{sw: sw, listener: l}
	s.work.Go(s.accept)
	return s, nil
}

// Close ends the server and waits for what it was saying.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.work.Wait()
	return err
}

func (s *Server) accept() {
	slots := make(chan struct{}, 16) // more at once is nobody's finger
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.sw.log.Warn("the switch's socket failed", "error", err)
			time.Sleep(100 * time.Millisecond) // it may be out of descriptors
			continue
		}
		slots <- struct{}{}
		s.work.Go(func() {
			defer func() { <-slots }()
			s.serve(conn)
		})
	}
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(talkWait)) // both kinds of connection have deadlines
	line, err := bufio.NewReader(io.LimitReader(conn, maxLine)).ReadBytes('\n')
	if err != nil {
		return
	}
	reply := s.answer(conn, line)
	data, err := json.Marshal(reply)
	if err != nil {
		return
	}
	_, _ = conn.Write(append(data, '\n')) // who left does not want to know
}

func (s *Server) answer(conn net.Conn, line []byte) Reply {
	var req Request
	if err := json.Unmarshal(line, &req); err != nil {
		return Reply{State: s.sw.State(), Error: "not a request"}
	}
	if req.Do != "" && !req.Do.Known() {
		return Reply{State: s.sw.State(), Error: "the switch knows on, ask, off and private"}
	}
	if req == (Request{}) {
		return Reply{State: s.sw.State()}
	}
	who, err := identify(conn)
	if err != nil {
		return Reply{State: s.sw.State(), Error: "cannot tell who is asking: " + err.Error()}
	}
	reply := s.do(req, who)
	reply.State = s.sw.State()
	return reply
}

// do is what a request of a known person leads to.
func (s *Server) do(req Request, who Caller) (reply Reply) {
	var err error
	switch {
	case req.Do != "":
		_, err = s.sw.Set(req.Do, who)
	case req.Answer != 0:
		err = s.sw.Answer(req.Answer, req.Yes, who)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	if req.List {
		reply.Waiting = s.sw.Waiting(who)
	}
	return reply
}

// ErrNotRunning means that no endpoint listens for this state folder.
var ErrNotRunning = errors.New("no endpoint is running here")

// Ask sends a request to the endpoint of a state folder.
func Ask(ctx context.Context, folder string, req Request) (Reply, error) {
	conn, err := dial(ctx, folder)
	if err != nil {
		return Reply{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(talkWait))
	data, err := json.Marshal(req)
	if err != nil {
		return Reply{}, err
	}
	if _, err := conn.Write(append(data, '\n')); err != nil {
		return Reply{}, err
	}
	var reply Reply
	if err := json.NewDecoder(io.LimitReader(conn, maxReply)).Decode(&reply); err != nil {
		return Reply{}, fmt.Errorf("the endpoint's answer: %w", err)
	}
	return reply, nil
}
