package front

import (
	"net/http"

	"parley.internal/internal/identity"
)

// Visitor is who a request says it is, for faces that also serve those who say
// nothing: then it is nil. What is said and does not hold is an error.
func (f *Front) Visitor(r *http.Request) (*identity.Actor, error) {
	_, bearer := Bearer(r)
	if _, err := pageCookie(r); err != nil && !bearer {
		return nil, nil
	}
	s, err := f.Actor(r)
	if err != nil {
		return nil, err
	}
	return &s, nil
}
