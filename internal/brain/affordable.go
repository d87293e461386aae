package brain

import "fmt"

// InMoney tells whether a limit is in dollars, which only a known price can hold.
func (b Budget) InMoney() bool { return b.RunMicros > 0 || b.DayMicros > 0 || b.MonthMicros > 0 }

// Payable returns an error that is [ErrNoPrice] when an agent's budget is in money
// and nobody knows what the model costs: such a budget would never be spent. The
// error says how to set a price.
func (m *Model) Payable(agent string, b Budget) error {
	if m.Price != nil || !b.InMoney() {
		return nil
	}
	return fmt.Errorf(`%w: the budget of %s is in dollars, and the price of %s is not known; put the line `+
		`models: {%q: {price: {input: 1.25, output: 10}}} with its prices per million tokens into prices.yaml of the data folder, or give the budget in tokens`,
		ErrNoPrice, agent, m.Ref, m.Ref.String())
}

// Payable checks an agent against the model it would use now. A model that nobody
// can find is another mistake, told when it is asked for.
func (c *Catalogue) Payable(a *Agent) error {
	m, err := c.Resolve(a.Model)
	if err != nil {
		return nil //nolint:nilerr // the agent can be saved before its provider is set up
	}
	return m.Payable(a.Name, a.Budget)
}

// Payable checks the budgets of a run and of those it works for.
func (m *Meter) Payable(by *Model) error {
	for at := m; at != nil; at = at.parent {
		if err := by.Payable(at.agent, at.budget); err != nil {
			return err
		}
	}
	return nil
}
