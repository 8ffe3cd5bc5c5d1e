#!/bin/sh
# Rebuilds ioctls_gen.go from the UAPI headers of Debian's Linux 6.12. The
# package is only unpacked, nothing is installed (Debian's linux-libc-dev
# leaves the DRM headers out). HEADERS=DIR, an include/uapi, uses headers that
# are there already.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -z "${HEADERS:-}" ]; then
	package=$(apt-cache search --names-only '^linux-headers-6\.12\..*-common$' | cut -d' ' -f1 | sort -V | tail -n 1)
	if [ -z "$package" ] || ! (cd "$tmp" && apt-get download -q "$package" >/dev/null 2>apt.log && dpkg -x ./*.deb .); then
		echo "record/gpu/generate.sh: cannot download Debian's linux-headers-6.12.*-common (apt-get update?); or give HEADERS=DIR, an include/uapi" >&2
		exit 1
	fi
	HEADERS="$tmp/usr/src/$package/include/uapi"
fi
go run gen_ioctls.go -headers "$HEADERS" -from "${FROM:-the UAPI headers of Linux 6.12}"
