#!/bin/sh
# Apptainer below build/containers/apptainer, for this repository's tests only; nothing is installed on the machine.
# Debian has it in unstable alone, built for a younger libc, so it gets a loader and libraries of its own.
# usage: get_apptainer.sh FOLDER
set -eu

place=$1
[ -x "$place/bin/apptainer" ] && exit 0
for program in apt-get dpkg-deb patchelf; do
    command -v "$program" >/dev/null 2>&1 || { echo "there is no $program" >&2; exit 1; }
done
sources=$(ls /etc/apt/sources.list.d/debian.sources 2>/dev/null) || { echo "apt does not know Debian's archive" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# suite package...: the machine's own source of Debian with another suite's name, and a state of its own.
fetch() {
    suite=$1
    shift
    mkdir -p "$work/$suite/lists/partial" "$work/$suite/cache/archives/partial" "$work/debs"
    sed -e "s/^Suites:.*/Suites: $suite/" -e '/^$/q' "$sources" >"$work/$suite/debian.sources"
    set -- "$@"
    options="-q -o Dir::Etc::sourcelist=$work/$suite/debian.sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$work/$suite/lists -o Dir::State::status=/dev/null -o Dir::Cache=$work/$suite/cache"
    # shellcheck disable=SC2086 # a list of options
    apt-get $options update >&2
    # shellcheck disable=SC2086
    (cd "$work/debs" && apt-get $options download "$@" >&2)
}

fetch unstable apptainer
fetch trixie libc6 libseccomp2 libsqlite3-0

root=$work/root
libraries=$work/libraries
for deb in "$work"/debs/*.deb; do
    case $deb in
    */apptainer_*) dpkg-deb -x "$deb" "$root" ;;
    *) dpkg-deb -x "$deb" "$libraries" ;;
    esac
done

# It finds its configuration and its session folder from where its program is.
mkdir -p "$place.partial"
cp -a "$root/usr" "$libraries" "$place.partial/"
cp -a "$root/etc" "$place.partial/usr/"
cp -a "$root/etc" "$place.partial/usr/lib/"
mkdir -p "$place.partial/usr/lib/var/lib/apptainer/mnt/session" "$place.partial/usr/var/lib/apptainer/mnt/session"
own=$place/libraries/usr/lib/x86_64-linux-gnu
for program in "$place.partial/usr/bin/apptainer" "$(find "$place.partial/usr" -type f -name starter)"; do
    patchelf --force-rpath --set-interpreter "$own/ld-linux-x86-64.so.2" --set-rpath "$own" "$program"
done

# In a container like CI's, root lacks a right that Apptainer would ask for (CAP_SYS_RESOURCE); users ask for none.
mkdir "$place.partial/bin"
cat >"$place.partial/bin/apptainer" <<END
#!/bin/sh
[ "\$(id -u)" -ne 0 ] || export APPTAINER_NO_PRIVS=1
exec "$place/usr/bin/apptainer" "\$@"
END
chmod 755 "$place.partial/bin/apptainer"
rm -rf "$place"
mv "$place.partial" "$place"
