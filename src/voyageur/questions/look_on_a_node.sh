# What a node of a cluster is like, one fact a line, each behind the word that tells our lines from a banner's.
# Arguments: a host on the internet, then names of variables that may hold the node's own folder, then "--", then paths.
say() {
    echo "voyageur: $1=$2"
}

outside=$1
shift
say host "$(hostname)"

variable=
path=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    value=$(printenv "$1")
    if [ -z "$variable" ] && [ -n "$value" ] && [ -d "$value" ] && [ -w "$value" ]; then
        variable=$1
        path=$value
    fi
    shift
done
[ $# -eq 0 ] || shift
for folder in "$@"; do
    if [ -z "$path" ] && [ -d "$folder" ] && [ -w "$folder" ]; then
        path=$folder
    fi
done
say variable "$variable"
if [ -n "$path" ]; then
    [ -n "$variable" ] || say path "$path"
    read -r kind size <<EOF
$(df -k --output=fstype,size -- "$path" 2>/dev/null | tail -n 1)
EOF
    say kind "$kind"
    say size "$size"
fi

# Three seconds are enough for a name and a connection where there is a way out.
if timeout 3 bash -c "exec 3<>/dev/tcp/$outside/443" 2>/dev/null; then
    say internet open
elif [ -n "${https_proxy:-}${HTTPS_PROXY:-}" ]; then
    say internet proxy
else
    say internet none
fi

pythons=
for minor in 8 9 10 11 12 13 14 15; do
    command -v "python3.$minor" >/dev/null 2>&1 && pythons="$pythons 3.$minor"
done
say pythons "$pythons"

containers=
for program in apptainer singularity podman-hpc podman enroot shifter uenv; do
    command -v "$program" >/dev/null 2>&1 && containers="$containers $program"
done
say containers "$containers"

count=0
for device in /dev/nvidia[0-9]*; do
    [ -e "$device" ] && count=$((count + 1))
done
say gpus "$count"
echo "voyageur: looked"
