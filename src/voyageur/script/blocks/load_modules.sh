if ! type module >/dev/null 2>&1; then
    echo "voyageur: this node has no 'module' command, so these cannot be loaded: ${modules[*]}" >&2
    exit 1
fi
module purge
module load "${modules[@]}" || exit 1
