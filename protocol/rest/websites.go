package rest

import "time"

// Websites whose pages may show rooms of this hub.
var (
	ListWebsites = Get[None, Websites]("/api/websites", "Websites whose pages may show rooms of this hub")
	ListWebsite  = Post[Website, ListedWebsite]("/api/websites", "Let the pages of a website show rooms of this hub").Created()
	// UnlistWebsite names it in the query: an origin has slashes.
	UnlistWebsite = Delete[WebsiteName, None]("/api/websites", "Take a website off the list")
)

// Website is one by its origin.
type Website struct {
	Origin string `json:"origin" minLength:"1" maxLength:"300" doc:"such as https://app.example.org"`
}

// WebsiteName names one that is listed.
type WebsiteName struct {
	Origin string `query:"origin"`
}

// ListedWebsite is one that is listed.
type ListedWebsite struct {
	Origin string    `json:"origin"`
	By     string    `json:"by,omitempty" doc:"who listed it; missing when the hub's settings do"`
	At     time.Time `json:"at,omitzero"`
}

// Websites is a list of them.
type Websites struct {
	Websites []ListedWebsite `json:"websites"`
}
