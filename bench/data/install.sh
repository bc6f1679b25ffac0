#!/bin/sh
# What the slow file system of the bench is built with and mounted by. Quick, and without apt, when it is there.
set -eu

command -v fusermount3 >/dev/null 2>&1 && pkg-config --exists fuse3 2>/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "error: the bench of shared storage needs libfuse 3" >&2
    echo "hint: as root: apt-get install fuse3 libfuse3-dev pkg-config gcc" >&2
    exit 1
fi
apt-get install --yes --quiet fuse3 libfuse3-dev pkg-config gcc >/dev/null
