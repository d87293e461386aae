// Package embed knows which websites may show rooms of this hub in their own pages.
//
//	origins, err := embed.New(embed.Options{DB: db, Trail: trail, Always: conf.Rooms.Origins})
//	origins.Add(ctx, admin, "https://app.example.org")
//	origins.Listed(ctx, "https://app.example.org")      // true
//
// What it guarantees:
//
//   - An origin is listed by the hub's settings or by somebody with admin, and the
//     trail says by whom.
//   - Only https is listed, and http on this computer: whoever sits between could
//     otherwise speak for the website.
//   - All hubs of a cluster agree within a second.
//
// Being listed gives a website no right of its own: its pages may knock, each with a
// credential that a person gave it. The front door (face/front) never looks at the
// page's cookie of a request that another website sent.
package embed
