package notice

import (
	"context"
	"fmt"
	"html"
	"slices"

	"github.com/godbus/dbus/v5"

	"parley.internal/internal/endpoint/control"
)

// Names of the desktop's notification service.
const (
	service = "org.freedesktop.Notifications"
	object  = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// Desktop shows a question as a notification of the session this process is in, with
// buttons to allow and to deny it.
func Desktop(ctx context.Context, q control.Question) (Answer, error) {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return Closed, fmt.Errorf("the session's bus: %w", err)
	}
	defer conn.Close()
	n := notification{conn: conn, server: conn.Object(service, object), signals: make(chan *dbus.Signal, 64)}
	if err := n.listen(ctx); err != nil {
		return Closed, err
	}
	if err := n.put(ctx, q); err != nil {
		return Closed, fmt.Errorf("the desktop's notifications: %w", err)
	}
	return n.wait(ctx)
}

type notification struct {
	conn    *dbus.Conn
	server  dbus.BusObject
	owner   string // of the service: nobody else's signals count
	can     []string
	signals chan *dbus.Signal
	id      uint32
	whole   bool // all of what would run is shown
}

// listen hears what the service says, and nobody else who uses its name.
func (n *notification) listen(ctx context.Context) error {
	n.conn.Signal(n.signals)
	if err := n.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(service), dbus.WithMatchInterface(service)); err != nil {
		return err
	}
	// Asking something starts the service, if the desktop has one that is not running.
	if err := n.server.CallWithContext(ctx, service+".GetCapabilities", 0).Store(&n.can); err != nil {
		return err
	}
	return n.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, service).Store(&n.owner)
}

// put shows the question. A desktop that knows no buttons shows it all the same.
func (n *notification) put(ctx context.Context, q control.Question) error {
	var text string
	text, n.whole = Text(q)
	if slices.Contains(n.can, "body-markup") {
		text = html.EscapeString(text)
	}
	actions := []string{"deny", "Deny"}
	if n.whole {
		actions = []string{"allow", "Allow", "deny", "Deny"}
	}
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(2)), "resident": dbus.MakeVariant(true), "category": dbus.MakeVariant("device")}
	title := fmt.Sprintf("Parley: may this run? (question %d)", q.N)
	return n.server.CallWithContext(ctx, service+".Notify", 0, "Parley", uint32(0), "dialog-question", title, text, actions, hints, int32(0)).Store(&n.id)
}

// wait gives the person's answer, or takes the notification down.
func (n *notification) wait(ctx context.Context) (Answer, error) {
	for {
		select {
		case s, open := <-n.signals:
			if !open {
				return Closed, nil
			}
			if answer, mine := n.read(s); mine {
				n.close()
				return answer, nil
			}
		case <-ctx.Done():
			n.close()
			return Closed, ctx.Err()
		}
	}
}

// read tells what a signal says about this notification.
func (n *notification) read(s *dbus.Signal) (answer Answer, mine bool) {
	if s.Sender != n.owner || len(s.Body) < 2 || s.Body[0] != n.id {
		return Closed, false
	}
	switch {
	case s.Name == service+".NotificationClosed":
		return Closed, true
	case s.Name == service+".ActionInvoked" && s.Body[1] == "allow" && n.whole:
		return Allow, true
	case s.Name == service+".ActionInvoked" && s.Body[1] == "deny":
		return Deny, true
	}
	return Closed, false // a click on the notice itself decides nothing
}

// close takes the notification down; one that is gone already is no failure.
func (n *notification) close() {
	_ = n.server.Call(service+".CloseNotification", 0, n.id).Err
}
