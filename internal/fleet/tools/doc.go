// Package tools is the fleet for agents that run on this hub: what they can look up
// about machines, and what they can do on them, each as a tool of a run.
package tools
