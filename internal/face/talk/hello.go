package talk

import (
	wire "parley.internal/protocol/agentfirst"
)

func (r *request) ping() (*wire.ServerMessage, error) { return pong(nil) }

// hello makes a client an extended one, and known if it brings a token.
func (r *request) hello() (*wire.ServerMessage, error) {
	c, in := r.c, r.msg.GetHello()
	if token := in.GetToken(); token != "" {
		s, err := c.face.authenticate(c.ctx, c.address, token)
		if err != nil {
			return nil, err
		}
		c.adopt(s)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return nil, errNoLogin
	}
	c.extended.Store(true)
	return &wire.ServerMessage{Message: &wire.ServerMessage_Hello{Hello: &wire.HelloReply{
		Version: wire.HelloVersion, Hub: c.face.d.Hub, Sender: s.OwnSender(), Scopes: s.Scopes.Sorted(),
	}}}, nil
}
