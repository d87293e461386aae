package room

import (
	"context"
	"errors"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kibitz"
)

// client is one WebSocket. It is the room's link and the socket's handler.
type client struct {
	face  *Face
	ws    *wsconn.Conn
	entry room.Entry

	caller *front.Caller
	live   *identity.Live

	connection room.Connection // set before the first message is handled
}

var (
	_ room.Link      = (*client)(nil)
	_ wsconn.Handler = (*client)(nil)
)

func (c *client) release() {
	c.caller.Gone()
	if c.live != nil {
		c.live.Release()
	}
}

// begin enters the room; hello is on its way when it returns.
func (c *client) begin() {
	c.entry.Link = c
	connection, err := c.face.d.Rooms.Enter(context.Background(), c.entry)
	if err != nil {
		c.refused(err)
		return
	}
	c.connection = connection
	if s := c.entry.Actor; s != nil && (s.TokenID != "" || s.PageID != "") {
		c.live = c.face.d.People.Track(*s, func(identity.Reason) {
			connection.Revoked()
			_ = c.ws.Close(kibitz.CloseRevoked, "credential revoked")
		})
	}
}

// refused ends a connection that found no room behind the door.
func (c *client) refused(err error) {
	code, reason := kibitz.CloseGoingAway, "the room cannot be reached"
	if kibitz.CodeOf(err) == kibitz.RoomUnknown {
		code, reason = kibitz.CloseRoomClosed, "the room was closed"
	}
	if !errors.Is(err, room.ErrUnavailable) {
		c.face.d.Log.Info("a connection found no room", "room", c.entry.Room, "error", err)
	}
	_ = c.ws.Close(wsconn.Code(code), reason)
}

// Message takes one frame; binary ones are refused before they come here.
func (c *client) Message(_ *wsconn.Conn, _ wsconn.Kind, data []byte) {
	if c.connection != nil {
		c.connection.Receive(data)
	}
}

// Closed is the end of the connection.
func (c *client) Closed(_ *wsconn.Conn, how wsconn.Ended) {
	if c.connection != nil {
		switch {
		case how.ByPeer:
		case how.Close == tooSlow:
			c.connection.Cut(room.FaultSlow)
		case how.Code == wsconn.CodeTooLarge:
			c.connection.Cut(room.FaultOversize)
		}
		c.connection.Gone()
	}
	c.release()
}

// Send implements room.Link. A reader that is too slow is cut by the queue.
func (c *client) Send(o *room.Out) {
	frame, ok := o.Wire(prepare).(*wsconn.Frame)
	switch {
	case !ok:
	case o.Newest != "":
		_ = c.ws.Send(wsconn.Message{Frame: frame, Policy: wsconn.Newest, Key: o.Newest})
	default:
		_ = c.ws.Send(wsconn.Message{Frame: frame, Now: o.Now})
	}
}

func prepare(data []byte) any { return wsconn.Prepare(wsconn.Text, data) }

// Close implements room.Link.
func (c *client) Close(code int, reason string) {
	_ = c.ws.Close(wsconn.Code(code), reason) //nolint:gosec // close codes fit
}

// Admitted implements room.Link: it is a stranger no more.
func (c *client) Admitted() { c.caller.Known() }
