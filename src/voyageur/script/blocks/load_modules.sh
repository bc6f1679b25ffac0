if ! type module >/dev/null 2>&1; then
    echo "voyageur: this node has no 'module' command, so these cannot be loaded: ${modules[*]}" >&2
    exit 1
fi
module purge
module load "${modules[@]}" || {
    echo "voyageur: these modules could not be loaded: ${modules[*]}; 'module spider NAME' lists what there is" >&2
    exit 1
}
# Modules before 4.1 answer 0 also for what they do not have.
for module in "${modules[@]}"; do
    case "${LMOD_VERSION:-}${MODULES_CMD:-}:${LOADEDMODULES-$module}" in
        [!:]* | *":$module"*) ;;
        *) echo "voyageur: the module $module could not be loaded" >&2 && exit 1 ;;
    esac
done
