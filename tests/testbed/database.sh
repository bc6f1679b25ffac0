#!/bin/sh
# A private mariadb for slurmdbd, reached only through its socket.
# usage: database.sh FOLDER
set -eu
folder=$1
[ -d "$folder" ] || mkdir -m 700 "$folder"

if [ ! -d "$folder/data/mysql" ]; then
    mysql_install_db --no-defaults --datadir="$folder/data" --user="$(id -un)" --skip-test-db --skip-name-resolve \
        --auth-root-authentication-method=normal
fi

# Nothing here outlives the bed, so nothing waits for the disk. slurmdbd asks for a long lock wait.
exec mariadbd --no-defaults --datadir="$folder/data" --user="$(id -un)" --socket="$folder/socket" \
    --pid-file="$folder/pid" --skip-networking --innodb-lock-wait-timeout=900 \
    --innodb-flush-method=nosync --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=64M
