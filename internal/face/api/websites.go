package api

import (
	"context"

	"parley.internal/internal/embed"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// RegisterWebsites adds the list of websites whose pages may show rooms.
func RegisterWebsites(a *API, o *embed.Origins) {
	r, admin := websiteRoutes{o}, access{Scope: identity.Admin, Tag: "rooms"}
	add(a, admin, rest.ListWebsites, r.list)
	addBody(a, admin, rest.ListWebsite, r.permit)
	add(a, admin, rest.UnlistWebsite, r.unlist)
}

type websiteRoutes struct{ o *embed.Origins }

func viewWebsite(o embed.Origin) rest.ListedWebsite {
	return rest.ListedWebsite{Origin: o.Origin, By: o.By, At: o.At}
}

func (r websiteRoutes) list(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.Websites, error) {
	all, err := r.o.List(ctx)
	return rest.Websites{Websites: each(all, viewWebsite)}, err
}

func (r websiteRoutes) permit(ctx context.Context, who identity.Actor, in *rest.Website) (rest.ListedWebsite, error) {
	one, err := r.o.Add(ctx, who, in.Origin)
	return viewWebsite(one), err
}

func (r websiteRoutes) unlist(ctx context.Context, who identity.Actor, in *rest.WebsiteName) (rest.None, error) {
	return rest.None{}, r.o.Remove(ctx, who, in.Origin)
}
