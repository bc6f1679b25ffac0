# Says which of the modules named are not there, with the words before them that tell our lines from a banner's.
# They are loaded one after the other, as a job does: in a hierarchy of modules one opens the way to the next.
if ! type module >/dev/null 2>&1; then
    echo "voyageur: no modules"
    exit 0
fi
if [ "$1" = purge ]; then
    module purge >/dev/null 2>&1
fi
shift

has_module() {
    module is-avail "$1" >/dev/null 2>&1 && return 0
    # Modules before 4.1 have no is-avail; their list is read instead.
    [ -z "${LMOD_VERSION:-}${MODULES_CMD:-}" ] || return 1
    module -t avail "$1" 2>&1 | while read -r line; do
        case $line in "$1" | "$1"/* | "$1("*) echo found ;; esac
    done | grep -q found
}

for name in "$@"; do
    if has_module "$name"; then
        module load "$name" >/dev/null 2>&1 || true
    else
        echo "voyageur: missing $name"
    fi
done
echo "voyageur: looked"
