package policy

import (
	"net/url"
	"slices"
	"strings"
)

// CheckUpdateURL judges the address of an update and of every redirect on the
// way: https, no credentials in it, and a host that was named at install time.
// An allowed host with a port allows that port only; without one, only the
// default port.
func CheckUpdateURL(address string, allowed []string) (Rule, bool) {
	deny := Rule{ID: "update.host", Class: "self_protection", Builtin: true, Reason: "updates come only by https from the hosts given at installation"}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" || strings.ContainsAny(address, "\\ \t\r\n") {
		return deny, true
	}
	host := withPort(u.Host)
	if slices.ContainsFunc(allowed, func(a string) bool { return withPort(a) == host }) {
		return Rule{}, false
	}
	return deny, true
}

// withPort makes hosts comparable: small letters, no root dot, explicit port.
func withPort(host string) string {
	u := url.URL{Host: strings.ToLower(strings.TrimSpace(host))}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return strings.TrimSuffix(u.Hostname(), ".") + ":" + port
}
