package web

import "net/http"

// policy is the page's content security policy. 'self' in connect-src covers
// the hub's WebSockets too. The page needs no inline script or style, so there
// is no exception for them; styles set by script through the CSSOM are not
// inline styles. Svelte makes its templates through the first named policy, and
// the second makes the service worker's address; no other code can turn a
// string into HTML or into a script.
const policy = "default-src 'none'; " +
	"script-src 'self'; " +
	"style-src 'self'; " +
	"img-src 'self' data: blob:; " +
	"connect-src 'self'; " +
	"font-src 'self'; " +
	"manifest-src 'self'; " +
	"worker-src 'self'; " +
	"frame-ancestors 'none'; " +
	"base-uri 'none'; " +
	"form-action 'none'; " +
	"require-trusted-types-for 'script'; " +
	"trusted-types svelte-trusted-html parley-worker"

// permissions switches off what the page never uses. Camera, microphone and
// screen are for rooms, and the browser still asks the person.
const permissions = "camera=(self), microphone=(self), display-capture=(self), " +
	"geolocation=(), payment=(), usb=(), serial=(), hid=(), midi=(), accelerometer=(), gyroscope=(), magnetometer=()"

func setHeaders(h http.Header, opt Options) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if h.Get("Cross-Origin-Resource-Policy") == "" { // the front door opens it for public files
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
	h.Set("Permissions-Policy", permissions)
	if opt.HSTS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
