package brain

import "parley.internal/internal/brain/model"

// Model is a model ready to be called.
type Model struct {
	Provider model.Provider
	Ref      model.Ref // as people write it
	Name     string    // as the provider knows it
	Kind     ProviderKind
	// Window is how many tokens fit in a call, 0 if unknown; Price is what they
	// cost, nil if unknown.
	Window int64
	Price  *Price
}

// Cost fills in what a call cost, unless the provider said so itself.
func (m *Model) Cost(u model.Usage) model.Usage {
	if u.CostKnown || m.Price == nil {
		return u
	}
	u.CostMicros, u.CostKnown = m.Price.Cost(u), true
	return u
}
