#!/bin/sh
# Regenerates agentfirst.pb.go. Only needed after editing agentfirst.proto; the
# build uses the committed file. Needs protoc (Debian: apt-get install
# protobuf-compiler); the Go plugin is built from the version in go.mod.
set -eu
cd "$(dirname "$0")"
plugin=$(mktemp -d)
trap 'rm -rf "$plugin"' EXIT
go build -o "$plugin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
protoc --plugin="$plugin/protoc-gen-go" --go_out=. --go_opt=paths=source_relative agentfirst.proto
