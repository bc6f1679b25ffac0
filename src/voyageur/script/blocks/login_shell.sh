# The site's modules come with a login shell. While it reads its profiles, a warning must not kill the job.
if [ -z "${VOY_LOGIN_SHELL:-}" ]; then
    trap '' USR1
    VOY_LOGIN_SHELL=1 exec /bin/bash -l "$0" "$@"
fi
unset VOY_LOGIN_SHELL
