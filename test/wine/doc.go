// Package wine runs the Windows program on this machine, where Wine is installed: the endpoint as a whole against
// a real hub on loopback, and the tests of those of its packages that talk to Windows. Without Wine it says so in
// one line; nothing else needs it.
//
//	apt-get install wine64        # Debian; about 200 MB
//	go test -v ./test/wine
//
// Wine is not Windows: it has no PowerShell, no winget and no event log, so a stand-in for PowerShell that hands
// its script to cmd.exe takes part, and what only Windows can answer is not asked here.
package wine
