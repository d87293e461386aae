package policy

import "strings"

// The catalogue's patterns are written with a few words in angle brackets, so
// that a reader sees what is meant and every rule means the same by it. They
// ignore case throughout.

// common words stand for the same everywhere.
var common = []string{
	// <cmd>: where a program's name may begin, also behind a path or a quote.
	"<cmd>", `(?:^|[\s;|&({"'\x60=@!\\/>,])`,
	// <run>: the stricter start of a command, for names that are common words.
	"<run>", `(?:^|[\n;|&({!\x60"']\s*|\b(?:sudo|doas|exec|nohup|env|time|nice|xargs|then|do|else|command|builtin|busybox|toybox|eval|timeout|stdbuf|setsid|ionice|chrt|taskset|chroot|nsenter|unshare|parallel)\s+(?:-\S+\s+(?:[\w.:@%{}]+\s+)?|\w+=\S*\s+|[\d.]+[smhd]?\s+|/\S*\s+)*)(?:[^\s;|&"'(]*/)?`,
	// <exe>: what may follow a program's name before its arguments.
	"<exe>", `(?:\.(?:exe|com|cmd|bat))?["']?`,
	// <rest>: anything within the same statement; <any>: anything at all.
	"<rest>", `[^\n;|&]*`,
	"<any>", `(?s:.*?)`,
	// <q>: a quote or none.
	"<q>", `["']?`,
	// <s>: a path separator, repeated or dotted as often as somebody likes.
	"<s>", `(?:[\\/]+(?:\.[\\/]+)*)`,
	// <done>: the end of an argument.
	"<done>", `["']?(?:$|[\s;|&)},<>])`,
	// <wintop>: a drive, or a folder Windows or a person cannot do without.
	"<wintop>", `["']?(?:(?:[a-z]:|\$\{?env:(?:system|home)drive\}?|%(?:system|home)drive%)[\\/]*(?:(?:windows|winnt)(?:[\\/]+(?:system32|syswow64|winsxs|system|boot|servicing)(?:[\\/][^\s"';|&]*)?)?|users(?:[\\/]+[^\\/\s"'*;|&]+(?:[\\/]+(?:documents|desktop|pictures|music|videos|onedrive|appdata))?)?|program files(?: \(x86\))?|progra~\d|docume~\d|(?:[^\\/\s"'*?;|&]{0,2}|win|pro|prog|use|user)[*?][^\\/\s"';|&]*|programdata|documents and settings|boot|recovery|system volume information)?|(?:\$\{?env:|%)(?:windir|systemroot)[}%]?[\\/]+(?:system32|syswow64|winsxs|system|boot|servicing)(?:[\\/][^\s"';|&]*)?|(?:\$\{?env:|%)userprofile[}%]?[\\/]+(?:documents|desktop|pictures|music|videos|onedrive|appdata)|(?:\$\{?env:|%)(?:windir|systemroot|programfiles(?:\(x86\))?|programw6432|programdata|allusersprofile|userprofile|public|appdata|localappdata)[}%]?|~|\$home)[\\/]*(?:\*(?:\.\*)?)?<done>`,
	// <top>: the root, a system folder, a home, or a pattern that means them.
	"<top>", `["']?(?:/+(?:\.{1,2}/+)*(?:\*|\.\*|\.{1,2})?|/+[^/\s"'*?\[;|&]{0,2}[*?\[][^/\s"';|&]*|/+(?:bin|boot|dev|etc|lib(?:32|64|x32)?|opt|proc|root|run|sbin|srv|sys|usr(?:/+(?:bin|sbin|lib(?:32|64|exec)?|share|local))?|var(?:/+(?:lib|log|spool(?:/+cron)?|mail|backups?|www))?|<part>|system(?:/+library)?|library|applications|volumes|private(?:/+(?:etc|var))?|home(?:/+[^/\s"';|&]+)?|users(?:/+[^/\s"';|&]+)?)(?:\*|/+(?:\.?\*)?)?|~[\w.-]*(?:/+(?:\.?\*)?)?|\$\{?home\}?(?:/+(?:\.?\*)?)?)<done>`,
	// <part>: a folder below those that a system, or a service people rely on, keeps
	// everything in.
	"<part>", `etc/+(?:ssh|pam\.d|systemd|init\.d|security|network|netplan|networkmanager|ssl|pki|sudoers\.d|cron\.d|selinux|apparmor\.d|ld\.so\.conf\.d|kubernetes|grub\.d|default|letsencrypt)|(?:usr/+)?lib/+(?:systemd|modules(?:/+[^/\s"';|&]+)?|firmware|(?:x86_64|aarch64)-linux-gnu)|var/+lib/+(?:dpkg|rpm|systemd|docker|containerd|kubelet|libvirt|lxd|lxc|(?:mysql|mariadb|postgresql|pgsql|mongo(?:db)?|redis|etcd|elasticsearch|influxdb)(?:/+[^\s"';|&]*)?)`,
	// <sys>: the root, or a folder no system runs without; no home.
	"<sys>", `["']?/+(?:(?:bin|boot|dev|etc|home|lib(?:32|64|x32)?|proc|root|sbin|sys|usr(?:/+(?:bin|sbin|lib(?:32|64|exec)?|share))?|users|var(?:/+lib)?|system(?:/+library)?|library|applications|private(?:/+(?:etc|var))?)(?:/+\*?|\*)?|\*|[^/\s"'*?\[;|&]{0,2}[?\[][^/\s"';|&]*)?<done>`,
	// <base>: the root, or a folder programs and their settings are in; what is
	// mounted anew on a system that runs (homes, /var, /boot) is not among them.
	"<base>", `["']?/+(?:\.?/+)*(?:bin|etc|lib(?:32|64|x32)?|sbin|usr(?:/+(?:bin|sbin|lib(?:32|64|exec)?|share))?|system(?:/+library)?|library|applications|private(?:/+etc)?)?/*<done>`,
	// <over>: the root or one of its folders, where a copied tree takes the place of
	// the system's own.
	"<over>", `["']?/+(?:\.?/+)*(?:bin|boot|etc|lib(?:32|64|x32)?|sbin|usr|system|library)?/*\.?["']?\s*(?:$|[\n;|&)}])`,
	// <word>: an argument that is no option.
	"<word>", `[^\s;|&<>-][^\s;|&<>]*`,
	// <mopt>: an option of mount, with its value; not the one that mounts again what
	// is there (remount).
	"<mopt>", `(?:(?:-[a-z]*[otlu]\s+(?:[^r\s;|&]|r[^e\s;|&]|re[^m\s;|&])[^\s;|&]*|-o(?:[^r\s;|&]|r[^e\s;|&]|re[^m\s;|&])[^\s;|&]*|--(?:types|options|label|uuid)[= ][^\s;|&]+|-[^\s;|&]*[^otlu\s;|&])\s+)`,
	// <unseen>: what was read from elsewhere while the script runs.
	"<unseen>", `["']?(?:` + unseen + `|\$\{?reply\}?)<done>`,
	// <up>: a way up that ends at a root sooner or later.
	"<up>", `["']?(?:(?:\$\{?(?:old)?pwd\}?|\$\(pwd\)|\x60pwd\x60|\.)/+)?\.\.(?:/+\.\.)+(?:/+(?:\.\.)?\*?|(?:/+\.\.){2,}/+(?:bin|boot|etc|lib(?:32|64)?|opt|root|sbin|srv|usr|var|home))?/*\*?<done>`,
	// <core>: a file no system starts or lets anybody in without.
	"<core>", `["']?/+(?:(?:usr/+)?(?:s?bin|lib(?:32|64|exec)?)/+[^\s"';|&]+|etc/+(?:passwd|group|g?shadow|sudoers|fstab|crypttab|inittab|nsswitch\.conf|shells|ld\.so\.\S+|pam\.d/\S+|ssh/sshd_config)["']?(?:$|[\s;|&)}]))`,
	// <vital>: a file of settings no system starts or lets anybody in without.
	"<vital>", `["']?/+etc/+(?:passwd|group|g?shadow|sudoers|fstab|crypttab|nsswitch\.conf|inittab|hosts|resolv\.conf|machine-id|shells|login\.defs|ssh/sshd_config)["']?`,
	// <disk>: a block device that holds data.
	"<disk>", `["']?/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|mapper/|disk/by-|nbd\d|zd\d|block/|root\b)`,
	// <shell>: programs that run what they are fed.
	"<shell>", `(?:sudo\s+(?:-\S+\s+)*|env\s+(?:\S+=\S*\s+)*|exec\s+|command\s+|nohup\s+)*(?:[^\s;|&"'(]*/)?(?:(?:ba|z|k|mk|pdk|da|a|c|tc|fi|r)?sh\b|pwsh\b|powershell\b|osascript\b|(?:python|perl|ruby|node|php|lua|tclsh|bun|deno)[\d.]*\s*(?:-\s*)?(?:$|[;|&\n)"'>]))`,
	// <syslog>: logs that tell what happened on a machine; not the old ones that
	// rotation put aside.
	"<syslog>", `["']?(?:(?:/private)?/var/log(?:/+\*(?:[.?]?log\*?|\.\*)?<done>|/*<done>|/+(?:syslog|messages|auth\.log|secure|kern\.log|wtmp|btmp|lastlog|faillog|daemon\.log|user\.log|cron|maillog|mail\.log|dpkg\.log|debug|boot\.log|system\.log|install\.log|sudo\.log)(?:\*|\{[^}\s]*\}?)?<done>|/+(?:audit|journal|asl)(?:/|<done>))|/run/log/journal|/(?:var/)?run/utmp|(?:/private)?/var/db/(?:diagnostics|uuidtext)|(?:/private)?/var/audit)`,
}

// A path inside a script ends and begins at blanks and punctuation.
var scriptWords = append([]string{
	"<b>", `(?:^|[\\/\s"'\x60=:;|&<>(){},@%~*])`,
	"<e>", `(?:$|[\\/\s"'\x60;|&<>(){}\[\],*?])`,
}, common...)

// A path alone has separators and nothing else.
var pathWords = append([]string{
	"<b>", `(?:^|[\\/])`,
	"<e>", `(?:$|[\\/])`,
}, common...)

// expand replaces the words; three times, because some contain others.
func expand(pattern string, words []string) string {
	r := strings.NewReplacer(words...)
	return "(?i)" + r.Replace(r.Replace(r.Replace(pattern)))
}
