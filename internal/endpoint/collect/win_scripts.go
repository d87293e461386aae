package collect

import (
	"strings"

	"parley.internal/internal/endpoint/probe"
)

// winPrelude defines what the snippets share: a time as text, and a line of
// JSON per section, whatever becomes of it.
const winPrelude = `$ErrorActionPreference='Stop'; $ProgressPreference='SilentlyContinue'; [Console]::OutputEncoding=[Text.Encoding]::UTF8
function Iso($t) { if ($t -and $t.Year -gt 1980) { $t.ToUniversalTime().ToString('yyyy-MM-ddTHH:mm:ssZ') } else { $null } }
function Emit($name, [scriptblock]$b) { try { $line=@{section=$name; data=(& $b)} } catch { $line=@{section=$name; error=[string]$_.Exception.Message; denied=($_.Exception -is [UnauthorizedAccessException] -or $_.CategoryInfo.Category -eq 'PermissionDenied')} }; [Console]::Out.WriteLine((ConvertTo-Json -Compress -Depth 6 -InputObject $line)) }
`

// winSnippets ask Windows for a section each. They run one after the other in
// one process; each gives an object, lists wrapped so that a list of one stays
// a list.
var winSnippets = map[string]string{
	"routing":             probe.RoutesItems,
	"autostart":           probe.TasksItems,
	"peripherals":         `@{items=@(Get-CimInstance Win32_PnPEntity | Where-Object { $_.Present -ne $false -and $_.Name -and $_.PNPClass -notin 'System','SoftwareDevice','SoftwareComponent','Volume','VolumeSnapshot','Computer','Processor','LegacyDriver','PrintQueue' } | ForEach-Object { @{name=[string]$_.Name; class=[string]$_.PNPClass; status=[string]$_.Status} })}`,
	"defender":            `$s=Get-MpComputerStatus; @{enabled=[bool]$s.AntivirusEnabled; realtime=[bool]$s.RealTimeProtectionEnabled; quick=(Iso $s.QuickScanEndTime); full=(Iso $s.FullScanEndTime); signature=(Iso $s.AntivirusSignatureLastUpdated); threats=@(Get-MpThreat -ErrorAction SilentlyContinue | Where-Object { $_.IsActive }).Count; reboot=[bool]$s.RebootRequired}`,
	"win_update":          `$q=(New-Object -ComObject Microsoft.Update.Session).CreateUpdateSearcher(); $n=[Math]::Min(25, $q.GetTotalHistoryCount()); $h=@(); if ($n -gt 0) { $h=@($q.QueryHistory(0, $n)) }; @{last_check=(Iso (New-Object -ComObject Microsoft.Update.AutoUpdate).Results.LastSearchSuccessDate); items=@($h | ForEach-Object { @{title=[string]$_.Title; result=[int]$_.ResultCode; date=(Iso $_.Date)} })}`,
	"disk_smart":          `$p=@(Get-CimInstance -Namespace root\wmi -ClassName MSStorageDriver_FailurePredictStatus -ErrorAction SilentlyContinue); @{predicted=[bool]($p | Where-Object { $_.PredictFailure }); items=@(Get-PhysicalDisk | ForEach-Object { $r=$_ | Get-StorageReliabilityCounter -ErrorAction SilentlyContinue; @{model=[string]$_.FriendlyName; health=[string]$_.HealthStatus; wear=$r.Wear; temperature=$r.Temperature} })}`,
	"battery":             `$b=@(Get-CimInstance Win32_Battery); $full=@(Get-CimInstance -Namespace root\wmi -ClassName BatteryFullChargedCapacity -ErrorAction SilentlyContinue)[0].FullChargedCapacity; $design=@(Get-CimInstance -Namespace root\wmi -ClassName BatteryStaticData -ErrorAction SilentlyContinue)[0].DesignedCapacity; @{full=$full; design=$design; items=@($b | ForEach-Object { @{charge=$_.EstimatedChargeRemaining; state=[int]$_.BatteryStatus} })}`,
	"thermals":            `@{items=@(Get-CimInstance -Namespace root\wmi -ClassName MSAcpi_ThermalZoneTemperature -ErrorAction SilentlyContinue | ForEach-Object { @{label=[string]$_.InstanceName; tenths=[int]$_.CurrentTemperature} })}`,
	"firewall":            `@{items=@(Get-NetFirewallProfile -PolicyStore ActiveStore | ForEach-Object { @{name=[string]$_.Name; enabled=([string]$_.Enabled -eq 'True')} })}`,
	"encryption":          `@{items=@(Get-CimInstance -Namespace root\cimv2\Security\MicrosoftVolumeEncryption -ClassName Win32_EncryptableVolume | Where-Object { $_.DriveLetter } | ForEach-Object { $c=Invoke-CimMethod -InputObject $_ -MethodName GetConversionStatus; @{mount=[string]$_.DriveLetter; protection=[int]$_.ProtectionStatus; percent=[int]$c.EncryptionPercentage} })}`,
	"av_thirdparty":       `@{items=@(Get-CimInstance -Namespace root\SecurityCenter2 -ClassName AntiVirusProduct -ErrorAction SilentlyContinue | ForEach-Object { @{name=[string]$_.displayName; state=[int]$_.productState} })}`,
	"defender_quarantine": `$t=@{}; Get-MpThreat -ErrorAction SilentlyContinue | ForEach-Object { $t[[string]$_.ThreatID]=$_ }; @{items=@(Get-MpThreatDetection -ErrorAction SilentlyContinue | Where-Object { $_.CleaningActionID -eq 2 } | ForEach-Object { $x=$t[[string]$_.ThreatID]; @{name=[string]$x.ThreatName; severity=[int]$x.SeverityID; detected_at=(Iso $_.InitialDetectionTime)} })}`,
	"reliability":         `$since=(Get-Date).AddDays(-7); $m=Get-CimInstance Win32_ReliabilityStabilityMetrics -ErrorAction SilentlyContinue | Sort-Object TimeGenerated -Descending | Select-Object -First 1; @{index=$m.SystemStabilityIndex; crashes=@(Get-CimInstance Win32_ReliabilityRecords -ErrorAction SilentlyContinue | Where-Object { $_.TimeGenerated -gt $since -and $_.SourceName -in 'Application Error','Application Hang','Microsoft-Windows-WER-SystemErrorReporting','BugCheck' }).Count}`,
	"printers":            `$jobs=@(Get-CimInstance Win32_PrintJob -ErrorAction SilentlyContinue); @{items=@(Get-CimInstance Win32_Printer | ForEach-Object { $n=$_.Name; @{name=[string]$n; status=[int]$_.PrinterStatus; error=[int]$_.DetectedErrorState; offline=[bool]$_.WorkOffline; default=[bool]$_.Default; jobs=@($jobs | Where-Object { $_.Name -like ($n + ',*') }).Count} })}`,
}

// winScript joins the snippets of the wanted sections, in their order.
func winScript(names []string) string {
	var b strings.Builder
	b.WriteString(winPrelude)
	for _, name := range names {
		if snippet, ok := winSnippets[name]; ok {
			b.WriteString("Emit '" + name + "' { " + snippet + " }\n")
		}
	}
	return b.String()
}
