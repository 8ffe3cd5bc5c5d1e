#!/bin/sh
# Rebuilds the Go code of every .proto file below this directory. Needs protoc
# (Debian: protobuf-compiler); the Go plugin comes from the module in go.mod.
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
PATH="$bin:$PATH"
for f in */*.proto; do
	(cd "${f%/*}" && protoc --proto_path=. --go_out=. --go_opt=paths=source_relative "${f##*/}")
done
