// Package mcpconformance holds the hub's MCP face to the public conformance suite.
//
// The suite wants certain tools, prompts and resources to look at. They exist only
// in this package's tests: face/mcp is mounted as in a hub, and the tests add them
// through its Extension. Each requirement set (one per revision of the protocol)
// is run whole; what is expected to fail is in baseline.yml, each with its reason.
//
//	go test ./test/mcpconformance            # after scripts/setup.sh
package mcpconformance
