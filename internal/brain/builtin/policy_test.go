package builtin

import (
	"encoding/json"
	"testing"

	"parley/internal/brain/tool"
)

func TestDecide(t *testing.T) {
	const yes, ask, no = tool.Allow, tool.Ask, tool.Refuse
	p, err := NewPolicy(PolicyOptions{Deny: []string{`drop\s+table`}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		command string
		want    tool.Action
	}{
		{"ls -la src", yes},
		{"  cat notes.txt", yes},
		{"grep -rn 'foo bar' .", yes},
		{"echo reboot later", yes},
		{"sleep 1", yes},
		{"ls; id", ask},
		{"ls | wc", ask},
		{"ls & id", ask},
		{"cat < a", ask},
		{"echo x > a", ask},
		{"echo $HOME", ask},
		{"echo `id`", ask},
		{"echo $(id)", ask},
		{"echo {a,b}", ask},
		{"ls\nid", ask},
		{"/bin/ls", ask},
		{"lsof", ask},
		{"X=1 ls", ask},
		{"", ask},
		{"rm -rf build", ask},
		{"rm -rf /tmp/x ./y", ask},
		{"rm a; ls /", ask},
		{"cat shutdown.log; make", ask},
		{"git commit -m 'reboot the project' && git push", ask},
		{"dd if=a of=b", ask},
		{"echo " + SelfTest, no},
		{"echo parley-deny-self''test", no},
		{"echo parley\\-deny-selftest", no},
		{"rm -rf /", no},
		{"sudo rm -fr /*", no},
		{"rm -r -f '/'", no},
		{"rm -rf --no-preserve-root /", no},
		{"cd x && rm -rf / ; echo", no},
		{"r\\m -rf /", no},
		{"chmod -R 777 /", no},
		{"find / -name x -delete", no},
		{"mkfs.ext4 /dev/sda1", no},
		{"sudo mkfs -t ext4 /dev/sdb", no},
		{"dd if=/dev/zero of=/dev/sda bs=1M", no},
		{"cat x > /dev/nvme0n1", no},
		{"wipefs -a /dev/sda", no},
		{"shutdown -h now", no},
		{"sudo /sbin/reboot", no},
		{"make && poweroff", no},
		{"init 0", no},
		{"systemctl --force reboot", no},
		{":(){ :|:& };:", no},
		{"bomb() { bomb | bomb & }; bomb", no},
		{"Remove-Item -Recurse -Force C:\\", no},
		{"format c:", no},
		{"Stop-Computer -Force", no},
		{"psql -c 'drop  table x'", no},
	}
	for _, tt := range tests {
		args, _ := json.Marshal(map[string]string{"command": tt.command})
		if got := p.Decide(&tool.Tool{Name: "shell", Class: tool.Sensitive}, args); got.Action != tt.want || (got.Action != yes) != (got.Reason != "") {
			t.Errorf("shell %q: %v %q, want %v", tt.command, got.Action, got.Reason, tt.want)
		}
		// a terminal never runs unasked, but what is denied is denied there too
		want := max(tt.want, ask)
		if got := p.Decide(&tool.Tool{Name: "terminal_open", Class: tool.Sensitive}, args); got.Action != want {
			t.Errorf("terminal_open %q: %v", tt.command, got.Action)
		}
		data, _ := json.Marshal(map[string]string{"data": tt.command + "\n"})
		if got := p.Decide(&tool.Tool{Name: "terminal_send", Class: tool.Sensitive}, data); got.Action != want {
			t.Errorf("terminal_send %q: %v", tt.command, got.Action)
		}
	}
}

func TestDecideByClass(t *testing.T) {
	p, err := NewPolicy(PolicyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Config{})
	tests := []struct {
		tool *tool.Tool
		args string
		want tool.Action
	}{
		{b.tools["file_read"], `{"path":"a"}`, tool.Allow},
		{b.tools["file_write"], `{"path":"a","content":""}`, tool.Allow},
		{b.tools["web_fetch"], `{"url":"https://example.com"}`, tool.Allow},
		{b.tools["web_fetch"], `{"url":"https://example.com","method":"HEAD"}`, tool.Allow},
		{b.tools["web_fetch"], `{"url":"https://example.com","method":"POST"}`, tool.Ask},
		{b.tools["web_fetch"], `{"url":"https://example.com","method":"GET","method":"POST"}`, tool.Ask},
		{b.tools["web_fetch"], `broken`, tool.Ask},
		{&tool.Tool{Name: "mcp__x__y", Class: tool.Mutating}, `{}`, tool.Ask},
		{&tool.Tool{Name: "mcp__x__y", Class: tool.ReadOnly}, `{}`, tool.Allow},
		{&tool.Tool{Name: "powershell_exec", Class: tool.Sensitive}, `{}`, tool.Ask},
		{&tool.Tool{Name: "classless"}, `{}`, tool.Ask},
	}
	for _, tt := range tests {
		if got := p.Decide(tt.tool, json.RawMessage(tt.args)); got.Action != tt.want {
			t.Errorf("%s %s: %v, want %v", tt.tool.Name, tt.args, got.Action, tt.want)
		}
	}
}

func TestAllowListCanBeEmptied(t *testing.T) {
	p, err := NewPolicy(PolicyOptions{Allow: []string{}})
	if err != nil || p.Allowed("ls") {
		t.Error("ls is still allowed")
	}
}

func TestABadDenyExpressionIsAnError(t *testing.T) {
	if _, err := NewPolicy(PolicyOptions{Deny: []string{"("}}); err == nil {
		t.Error("accepted")
	}
}
