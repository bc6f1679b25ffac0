for VOY_PYTHON in python3 python /usr/bin/python3 python3.12 python3.11 python3.10 python3.9 python3.8; do
    "$VOY_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && break
    VOY_PYTHON=
done
if [ -z "$VOY_PYTHON" ]; then
    echo "voyageur: no Python 3.8 or newer on this node; load a module that has one ([env] modules)" >&2
    exit 1
fi
export VOY_PYTHON
