#!/bin/sh
# Make sure that the programs of the test clusters are on this machine. Quick, and without apt, when they are.
# Starts no service: the test beds run daemons of their own.
set -eu

# program:Debian package
needed="
slurmctld:slurm-wlm slurmd:slurm-wlm sbatch:slurm-wlm slurmdbd:slurmdbd munged:munge
mariadbd:mariadb-server mysql_install_db:mariadb-server sshd:openssh-server rsync:rsync ip:iproute2 shellcheck:shellcheck sqfstar:squashfs-tools
squashfuse:squashfuse fusermount3:fuse3 ch-run:charliecloud patchelf:patchelf
/usr/share/lmod/lmod/libexec/lmod:lmod
"

PATH=$PATH:/usr/sbin:/sbin
missing=
for pair in $needed; do
    program=${pair%%:*}
    package=${pair#*:}
    command -v "$program" >/dev/null 2>&1 && continue
    case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
done

# Slurm opens PMIx by this name, which only the -dev package has, when slurmd starts.
ls /usr/lib/*/libpmix.so >/dev/null 2>&1 || missing="$missing libpmix-dev"

# Debian installs either Lmod or Environment Modules, so the other one is only unpacked.
modules=/var/lib/voyageur-testbed/environment-modules
[ -e "$modules/usr/share/modules/init/bash" ] || unpack=environment-modules

[ -n "$missing${unpack:-}" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "error: the test clusters need these Debian packages:$missing ${unpack:-}" >&2
    echo "hint: as root: bash tests/testbed/install.sh" >&2
    exit 1
fi

# 101 is a policy's word for "do not start this service"; Debian's packages ask before they start theirs.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# shellcheck disable=SC2086  # a list of package names
[ -z "$missing" ] || apt-get -qq install --yes --no-install-recommends $missing
if [ -n "${unpack:-}" ]; then
    folder=$(mktemp -d)
    mkdir -p "$modules"
    (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download "$unpack" && dpkg -x ./*.deb "$modules")
    rm -rf "$folder"
fi
