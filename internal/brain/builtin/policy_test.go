package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"parley.internal/internal/brain/tool"
)

// shellCall is a call of the shell in a workspace with some files, links out of it and a root.
func shellCall(t *testing.T) (call tool.Call, root string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(base, "data", "workspace")
	root = filepath.Join(base, "root")
	for _, dir := range []string{filepath.Join(ws, "src"), root} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(ws, "notes.txt"), filepath.Join(base, "data", "owner.token"), filepath.Join(root, "x")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"innocent.txt": "../owner.token", "up": "..", "deep": "src", "nowhere": "../not-there-yet", "loop": "loop", "toroot": root,
	} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	return tool.Call{Name: "shell", Workspace: ws}, root
}

func commandCall(call tool.Call, args any) tool.Call {
	call.Arguments, _ = json.Marshal(args)
	return call
}

// The allow list once looked at the first word only: cat ../owner.token ran unasked, and
// whoever could submit a task became the owner.
func TestCommandsThatNeedNobodysYes(t *testing.T) {
	call, root := shellCall(t)
	p, err := NewPolicy(PolicyOptions{Boxed: true, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	const yes, ask = true, false
	tests := []struct {
		command string
		want    bool
	}{
		{"ls", yes},
		{"ls -la src", yes},
		{"ls --color=never -R .", yes},
		{"  cat notes.txt", yes},
		{"cat -n 'notes.txt' \"src\"", yes},
		{"cat ./src/../notes.txt", yes},
		{"cat deep/../notes.txt", yes},
		{"cat missing.txt", yes},
		{"cat " + call.Workspace + "/notes.txt", yes},
		{"cat " + root + "/x", yes},
		{"cat toroot/x", yes},
		{"cat -", yes},
		{"grep -rn 'foo bar' .", yes},
		{"grep -e /etc/shadow notes.txt", yes},
		{"grep -A2 -B 2 /etc/shadow notes.txt", yes},
		{"grep \"a*b\" notes.txt", yes},
		{"head -n 5 notes.txt", yes},
		{"head -5 notes.txt", yes},
		{"tail -c100 notes.txt", yes},
		{"wc -l notes.txt", yes},
		{"stat -c %s notes.txt", yes},
		{"echo reboot later", yes},
		{"echo /etc/shadow", yes},
		{"echo 'a * b; c'", yes},
		{"sleep 1", yes},
		{"sleep 0.5s", yes},
		{"date", yes},
		{"pwd", yes},
		{"uname -a", yes},
		{"whoami", yes},
		{"true", yes},

		{"cat ../owner.token", ask},
		{"cat ../keys/hub.key", ask},
		{"cat /etc/shadow", ask},
		{"cat /proc/1/environ", ask},
		{"cat /proc/self/cwd/../owner.token", ask},
		{"cat innocent.txt", ask},
		{"cat up/owner.token", ask},
		{"cat deep/../../owner.token", ask},
		{"cat nowhere", ask},
		{"cat loop", ask},
		{"cat missing/../../owner.token", ask},
		{"cat notes.txt ../owner.token", ask},
		{"cat -- ../owner.token", ask},
		{"cat '../owner.token'", ask},
		{"cat ..'/'owner.token", ask},
		{"cat .\".\"/owner.token", ask},
		{"cat ~/.ssh/id_ed25519", ask},
		{"cat *", ask},
		{"cat ../own?r.token", ask},
		{"cat ../[o]wner.token", ask},
		{"echo *", ask},
		{"echo ~root", ask},
		{"ls ..", ask},
		{"ls -L innocent.txt", ask},
		{"ls --recursive /", ask},
		{"head ../owner.token", ask},
		{"tail -f notes.txt", ask},
		{"tail --follow=name notes.txt", ask},
		{"tail -F notes.txt", ask},
		{"tail --retry notes.txt", ask},
		{"tail --pid=1 notes.txt", ask},
		{"wc --files0-from=../owner.token", ask},
		{"wc --files0=notes.txt", ask},
		{"stat ../owner.token", ask},
		{"stat /proc/1/exe", ask},
		{"grep . ../owner.token", ask},
		{"grep -r . ..", ask},
		{"grep -R . .", ask},
		{"grep -f ../owner.token notes.txt", ask},
		{"grep -f../owner.token notes.txt", ask},
		{"grep -nf ../owner.token notes.txt", ask},
		{"grep --file=../owner.token notes.txt", ask},
		{"grep --fil=../owner.token notes.txt", ask},
		{"grep -e x ../owner.token", ask},
		{"grep --exclude-from=../owner.token x notes.txt", ask},
		{"date -s 2001-01-01", ask},
		{"date --set=2001-01-01", ask},
		{"date -f ../owner.token", ask},
		{"date -r ../owner.token", ask},
		{"date +%s", ask},
		{"sleep infinity", ask},
		{"sleep 1d", ask},
		{"sleep 99999", ask},
		{"find . -name x", ask},
		{"ls; id", ask},
		{"ls | wc", ask},
		{"ls & id", ask},
		{"cat < a", ask},
		{"echo x > a", ask},
		{"echo $HOME", ask},
		{"echo \"$HOME\"", ask},
		{"echo `id`", ask},
		{"echo $(id)", ask},
		{"echo {a,b}", ask},
		{"echo a\\b", ask},
		{"echo 'open", ask},
		{"ls\nid", ask},
		{"ls # comment", ask},
		{"/bin/ls", ask},
		{"lsof", ask},
		{"X=1 ls", ask},
		{"", ask},
		{"rm -rf build", ask},
		{"dd if=a of=b", ask},
	}
	for _, tt := range tests {
		if got := p.Unasked(commandCall(call, map[string]string{"command": tt.command})); got != tt.want {
			t.Errorf("%q runs unasked: %v, want %v", tt.command, got, tt.want)
		}
	}
	for cwd, want := range map[string]bool{"src": true, "": true, "up": false, "..": false, "/": false, "toroot": false, root: true} {
		if got := p.Unasked(commandCall(call, map[string]string{"command": "ls", "cwd": cwd})); got != want {
			t.Errorf("ls in %q runs unasked: %v, want %v", cwd, got, want)
		}
	}
	if p.Unasked(commandCall(call, map[string]string{"command": "cat ../notes.txt", "cwd": "src"})) != true {
		t.Error("cat ../notes.txt in src asks, though that is in the workspace")
	}
	call.Name = "terminal_open"
	if p.Unasked(commandCall(call, map[string]string{"command": "ls"})) {
		t.Error("a terminal runs unasked")
	}
}

func TestCommandsOfAnOwnAllowListTakePlainPathsOnly(t *testing.T) {
	call, _ := shellCall(t)
	p, err := NewPolicy(PolicyOptions{Boxed: true, Allow: []string{"make", "git"}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{
		"make": true, "make -k all": true, "git status --short": true, "git log -n5 src": true,
		"make -f/etc/x": false, "make -f../x": false, "make --file=x": false, "make DIR=/etc": false, "git -C .. status": false, "git diff up/x": false,
		"git log @/etc/x": false, "ls": false,
	} {
		if got := p.Unasked(commandCall(call, map[string]string{"command": command})); got != want {
			t.Errorf("%q runs unasked: %v, want %v", command, got, want)
		}
	}
}

// Without a box a command has all rights of the hub, so the list spares nobody the question.
func TestWithoutABoxNoCommandRunsUnasked(t *testing.T) {
	call, _ := shellCall(t)
	p, err := NewPolicy(PolicyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Unasked(commandCall(call, map[string]string{"command": "ls"})) || p.Boxed() || (*Policy)(nil).Boxed() {
		t.Error("ls runs unasked without a box")
	}
}

func TestAllowListCanBeEmptied(t *testing.T) {
	call, _ := shellCall(t)
	p, err := NewPolicy(PolicyOptions{Boxed: true, Allow: []string{}})
	if err != nil || p.Unasked(commandCall(call, map[string]string{"command": "ls"})) {
		t.Error("ls is still allowed")
	}
}

func TestDeniedCommandsNeverRun(t *testing.T) {
	p, err := NewPolicy(PolicyOptions{Deny: []string{`drop\s+table`}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		command string
		denied  bool
	}{
		{"rm -rf build", false},
		{"rm -rf /tmp/x ./y", false},
		{"rm a; ls /", false},
		{"cat shutdown.log; make", false},
		{"git commit -m 'reboot the project' && git push", false},
		{"dd if=a of=b", false},
		{"echo " + SelfTest, true},
		{"echo parley-deny-self''test", true},
		{"echo parley\\-deny-selftest", true},
		{"rm -rf /", true},
		{"sudo rm -fr /*", true},
		{"rm -r -f '/'", true},
		{"rm -rf --no-preserve-root /", true},
		{"cd x && rm -rf / ; echo", true},
		{"r\\m -rf /", true},
		{"chmod -R 777 /", true},
		{"find / -name x -delete", true},
		{"mkfs.ext4 /dev/sda1", true},
		{"sudo mkfs -t ext4 /dev/sdb", true},
		{"dd if=/dev/zero of=/dev/sda bs=1M", true},
		{"cat x > /dev/nvme0n1", true},
		{"wipefs -a /dev/sda", true},
		{"shutdown -h now", true},
		{"sudo /sbin/reboot", true},
		{"make && poweroff", true},
		{"init 0", true},
		{"systemctl --force reboot", true},
		{":(){ :|:& };:", true},
		{"bomb() { bomb | bomb & }; bomb", true},
		{"Remove-Item -Recurse -Force C:\\", true},
		{"format c:", true},
		{"Stop-Computer -Force", true},
		{"psql -c 'drop  table x'", true},
	}
	for _, tt := range tests {
		for name, args := range map[string]map[string]string{
			"shell": {"command": tt.command}, "terminal_open": {"command": tt.command}, "terminal_send": {"data": tt.command + "\n"},
		} {
			if reason, got := p.Refused(commandCall(tool.Call{Name: name}, args)); got != tt.denied || got != (reason != "") {
				t.Errorf("%s %q is refused: %v %q, want %v", name, tt.command, got, reason, tt.denied)
			}
		}
		if _, got := p.Refused(commandCall(tool.Call{Name: "file_write"}, map[string]string{"command": tt.command})); got {
			t.Errorf("%q is refused in a file", tt.command)
		}
	}
}

func TestABadDenyExpressionIsAnError(t *testing.T) {
	if _, err := NewPolicy(PolicyOptions{Deny: []string{"("}}); err == nil {
		t.Error("accepted")
	}
}
