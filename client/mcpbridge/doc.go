// Package mcpbridge carries MCP between a program that speaks it on its standard
// input and output and a hub that speaks it over HTTP.
//
//	b := &mcpbridge.Bridge{Endpoint: "https://hub.example/mcp/fleet", Token: token, Client: client}
//	err := b.Run(ctx, os.Stdin, os.Stdout)
//
// It knows both kinds of revision: it keeps the session of the older ones, begins
// it anew when the hub has forgotten it, and gives requests that stand alone the
// headers they need. Every request gets exactly one answer, whatever happens to the
// connection. It changes no message.
package mcpbridge
