// Package sdk hands out what other people's programs and pages need to use rooms of
// this hub: the widget, and the SDKs to the tools people install packages with. They
// are the hub's own, so they always fit its version and need nobody else's server.
//
//	sdk.New(sdk.Options{Files: page, Page: faceweb.Handler(page, …), Version: version, Websites: origins}).Register(routes)
//	sdk.NewPackages(parley.SDK, "v1.4.0", os.DirFS("/opt/parley/sdk")).Register(routes)
//
//	/widget.js                       one script line puts a room into a page
//	/sdk/                            what there is, and how it is installed
//	/sdk/roomagent.js                the SDK as an ES module
//	/sdk/js/parley-rooms-VERSION.tgz the SDK as a package; latest.tgz is the same
//	/sdk/origin                      tells a page whether its website is listed
//	/sdk/go/                         the Go module proxy protocol
//	/sdk/python/simple/              a Python index (PEP 503)
//
// Everything here is public and the same for everybody, so pages of every website may
// read it; nothing here looks at who asks, except for the origin that a browser names.
// It guarantees:
//
//   - A version never names two contents: a release is its tag, everything else is
//     named by the hash of what it holds. Go and pip keep what they fetched for ever.
//   - The Go module holds client/ and protocol/, without tests and without anything that
//     needs the rest of the hub.
//   - What others wrote is handed out only if it lies beside the program (carried), as
//     a release puts it there; else the answer is 404 and the tool asks the next source.
package sdk
