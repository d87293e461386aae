package agentfirst

import (
	"context"
	"iter"

	wire "parley.internal/protocol/agentfirst"
)

// The requests of this file are for the original server. Parley has no packages
// and no separate services, and says so.

// InstallPackage installs a package and yields what happens; the last event is done.
func (c *Client) InstallPackage(ctx context.Context, install *wire.InstallPackage) iter.Seq2[*wire.HubEvent, error] {
	return c.hubEvents(ctx, &wire.ClientMessage{Message: &wire.ClientMessage_InstallPackage{InstallPackage: install}})
}

// UninstallPackage removes a package and yields what happens; the last event is done.
func (c *Client) UninstallPackage(ctx context.Context, name string) iter.Seq2[*wire.HubEvent, error] {
	return c.hubEvents(ctx, &wire.ClientMessage{Message: &wire.ClientMessage_UninstallPackage{
		UninstallPackage: &wire.UninstallPackage{Package: name},
	}})
}

func (c *Client) hubEvents(ctx context.Context, req *wire.ClientMessage) iter.Seq2[*wire.HubEvent, error] {
	done := func(m *wire.ServerMessage) bool { return m.GetHubEvent().GetDone() != nil }
	return func(yield func(*wire.HubEvent, error) bool) {
		for m, err := range c.frames(ctx, req, &call{last: done}) {
			if err == nil && m.GetHubEvent() == nil {
				err = ErrUnexpectedAnswer
			}
			if !yield(m.GetHubEvent(), err) || err != nil {
				return
			}
		}
	}
}

// ListPackages lists the installed packages.
func (c *Client) ListPackages(ctx context.Context) ([]*wire.PackageInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListPackages{ListPackages: &wire.ListPackages{}}},
		(*wire.ServerMessage).GetPackageList)
	return m.GetPackages(), err
}

// SearchHub looks for packages to install.
func (c *Client) SearchHub(ctx context.Context, query string) ([]*wire.HubPackageInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SearchHub{SearchHub: &wire.SearchHub{Query: query}}},
		(*wire.ServerMessage).GetHubPackageList)
	return m.GetPackages(), err
}

// StartService starts a service.
func (c *Client) StartService(ctx context.Context, name string, force bool) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_StartService{
		StartService: &wire.StartService{Name: name, Force: force},
	}})
}

// StopService stops a service.
func (c *Client) StopService(ctx context.Context, name string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_StopService{StopService: &wire.StopService{Name: name}}})
}

// ServiceLogs returns the last lines of a service's log.
func (c *Client) ServiceLogs(ctx context.Context, name string, lines uint32) (string, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ServiceLogs{
		ServiceLogs: &wire.ServiceLogs{Name: name, Lines: lines},
	}}, (*wire.ServerMessage).GetServiceLogOutput)
	return m.GetContent(), err
}
