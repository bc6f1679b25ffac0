#!/bin/sh
# Process 1 of one node: makes the namespaces look like a machine of their own and keeps them after slurmd has died,
# so that jobs go on as they do when only the daemon of a real node is lost.
# usage (inside fresh uts, mount, pid and net namespaces): node.sh ROOT NAME
set -eu
root=$1
name=$2

hostname "$name"
mount --bind "$root/etc/hosts" /etc/hosts
if [ -e /etc/resolv.conf ]; then mount --bind "$root/etc/resolv.conf" /etc/resolv.conf; fi
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --bind "$root/local/$name" /tmp
: >"$root/run/$name.up"

# `wait` collects the orphans of the node as well: they become children of process 1.
while :; do
    sleep 86400 &
    wait $!
done
