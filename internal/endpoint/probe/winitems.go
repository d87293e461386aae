package probe

// RoutesItems and TasksItems are PowerShell that gives {items:[…]} of routes,
// and of tasks that run at log-on or boot.
const (
	RoutesItems = `@{items=@(Get-NetRoute | ForEach-Object { @{destination=[string]$_.DestinationPrefix; next_hop=$(if ($_.NextHop -in '0.0.0.0','::') {''} else {[string]$_.NextHop}); interface=[string]$_.InterfaceAlias; metric=[int]($_.RouteMetric + $_.InterfaceMetric)} })}`
	TasksItems  = `@{items=@(Get-ScheduledTask | Where-Object { $_.State -ne 'Disabled' -and ($_.Triggers | Where-Object { $_.CimClass.CimClassName -in 'MSFT_TaskLogonTrigger','MSFT_TaskBootTrigger' }) } | ForEach-Object { @{name=[string]$_.TaskName; command=[string](($_.Actions | ForEach-Object { ([string]$_.Execute + ' ' + [string]$_.Arguments).Trim() }) -join '; '); location=('Task Scheduler' + $_.TaskPath)} })}`
)
