// Package watching tries what is delivered for whoever watches hubs: the alerts of
// deploy/prometheus and the dashboard of deploy/grafana, in a real Prometheus that scrapes
// a real hub.
package watching
