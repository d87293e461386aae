// Package proc starts the programs agents use, shell commands and MCP servers,
// so that they cannot outlive their purpose or read the hub's secrets.
//
//	cmd := exec.Command("npx", "some-server")
//	proc.Own(cmd)                         // before Start: a group of its own
//	cmd.Env = proc.CleanEnv(os.Environ())
//	…
//	proc.Stop(cmd)                        // asks the whole group to end
//	proc.Kill(cmd)                        // ends it
package proc
