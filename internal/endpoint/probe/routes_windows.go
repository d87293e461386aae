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

func asJSON(items string) string {
	return "ConvertTo-Json -Depth 4 -Compress -InputObject (" + items + ")"
}
