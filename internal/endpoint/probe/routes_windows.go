package probe

import "context"

const routesScript = `ConvertTo-Json -Depth 3 -Compress @{items=@(Get-NetRoute | ForEach-Object { @{destination=$_.DestinationPrefix; next_hop=$(if ($_.NextHop -in '0.0.0.0','::') {''} else {$_.NextHop}); interface=$_.InterfaceAlias; metric=[int]($_.RouteMetric + $_.InterfaceMetric)} })}`

// Routes reads the routing table.
func Routes(ctx context.Context) ([]Route, error) {
	out, err := PowerShell(ctx, routesScript)
	if err != nil {
		return nil, err
	}
	return items[Route](out)
}
