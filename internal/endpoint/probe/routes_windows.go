package probe

import "context"

// Routes reads the routing table.
func Routes(ctx context.Context) ([]Route, error) {
	out, err := PowerShell(ctx, asJSON(RoutesItems))
	if err != nil {
		return nil, err
	}
	return items[Route](out)
}
