package builtin

import "regexp"

// SelfTest is always on the deny list, so that anybody can see it work.
const SelfTest = "parley-deny-selftest"

// start is where a command can begin: the line, or after a separator, perhaps
// behind sudo and the like, perhaps with a path.
const start = `(?:^|[;&|({\x60\n]|\b(?:sudo|doas|exec|env|nohup|then|do|else)\s)\s*(?:-\S+\s+)*(?:/\S*/)?`

// Words of one command only: what follows a separator is another command.
const (
	gap  = `[ \t]+`
	word = `(?:[^\s;&|]+[ \t]+)*`
	stop = `(?:\s|$|[;&|)])`
)

// disk is a whole device.
const disk = `/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|md|dm-|mapper/)`

// denied are accidents nobody wants, however they come about.
var denied = []*regexp.Regexp{
	regexp.MustCompile(SelfTest),
	// the root tree
	regexp.MustCompile(`\brm` + gap + word + `(?:--no-preserve-root|["']?/+\.?/*\*?["']?` + stop + `)`),
	regexp.MustCompile(`\bfind` + gap + `/` + gap + word + `-delete\b`),
	regexp.MustCompile(start + `(?:chmod|chown)` + gap + word + `(?:-[a-zA-Z]*R[a-zA-Z]*|--recursive)` + gap + word + `/+` + stop),
	regexp.MustCompile(`(?i)\b(?:remove-item|ri|rd|rmdir|del|erase)` + gap + word + `["']?[a-z]:[\\/]*\*?["']?` + stop),
	// disks
	regexp.MustCompile(start + `(?:mkfs|mke2fs|wipefs|blkdiscard|mkswap|sgdisk|sfdisk|parted)\b`),
	regexp.MustCompile(`\bdd\b[^;&|\n]*\bof=["']?` + disk),
	regexp.MustCompile(`>\s*["']?` + disk),
	regexp.MustCompile(start + `shred\b[^;&|\n]*\s["']?` + disk),
	regexp.MustCompile(`(?i)\bformat(?:\.com)?\s+[a-z]:`),
	regexp.MustCompile(`(?i)\b(?:format-volume|clear-disk|initialize-disk|diskpart)\b`),
	// power
	regexp.MustCompile(start + `(?:shutdown|poweroff|halt|reboot)\b`),
	regexp.MustCompile(start + `(?:init|telinit)\s+[06]\b`),
	regexp.MustCompile(`\bsystemctl\s+(?:-\S+\s+)*(?:poweroff|reboot|halt|kexec|soft-reboot)\b`),
	regexp.MustCompile(`(?i)\b(?:stop-computer|restart-computer)\b`),
	// fork bombs
	regexp.MustCompile(`[\w:.]+\s*\(\s*\)\s*\{[^}]*\|\s*[\w:.]+\s*&[^}]*\}`),
}
