// Package sdk hands out the SDKs that fit this hub, to the tools people install
// packages with.
//
//	packages, err := sdk.New(parley.SDK, "v1.4.0", os.DirFS("/opt/parley/sdk"))
//	packages.Register(routes)
//
// It serves the Go module proxy protocol under /sdk/go/ and a Python index (PEP 503)
// under /sdk/python/simple/. It guarantees:
//
//   - A version never names two contents: a release is its tag, everything else is
//     named by the hash of what it holds. Go and pip keep what they fetched for ever.
//   - The module holds client/ and protocol/, without tests and without anything that
//     needs the rest of the hub.
//   - What others wrote is handed out only if it lies beside the program (carried), as
//     a release puts it there; else the answer is 404 and the tool asks the next source.
package sdk
