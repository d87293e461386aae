// Package mcpclient lets agents use the tools of MCP servers, programs on this
// machine (stdio) or addresses (Streamable HTTP).
//
//	pool := mcpclient.New(mcpclient.Options{Log: log})
//	defer pool.Close()
//	pool.Set([]mcpclient.Server{{Name: "files", Command: "files-mcp"}})
//	tools, err := pool.Tools(ctx, "parley", []string{"*"})   // mcp__files__…
//
// Each agent has a client of its own per server. It is started when first
// needed, stopped after ten idle minutes, and started again after a crash by the
// next call; the call that saw the crash gets an error it can read, never more.
// [Pool.Close] ends every program that was started, with all it started itself.
//
// What servers say is words of strangers. Their tools count as mutating unless
// the server is configured as trusted and calls them read-only. Values of the
// environment and bearer tokens never appear in a status, an error or a log.
package mcpclient
