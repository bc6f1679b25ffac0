"""A mock: no machine that runs these tests has a GPU, so a script stands for NVIDIA's control program of MPS.

It has its pipes, its log, its server and its commands. `bench/gpu` runs the real one on a real GPU.
"""

from __future__ import annotations

from pathlib import Path

# As NVIDIA's: `-f` stays in the foreground; without, it hands what it reads to the other one.
CONTROL = """#!/bin/bash
place=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
    echo "begin $place $(stat -c %a "$place") ${CUDA_VISIBLE_DEVICES-none}" >>"$MPS_STORY"
    mkfifo "$place/control"
    sleep 300 & server=$!
    while read -r word rest <"$place/control"; do
        case $word in quit) kill $server; echo "quit" >>"$MPS_STORY"; exit 0 ;; esac
    done
fi
read -r words
[ "$words" = get_server_list ] || timeout 5 bash -c 'echo "$1" >"$2"' _ "$words" "$place/control"
"""


def put_control(folder: Path) -> Path:
    tool = folder / "nvidia-cuda-mps-control"
    tool.write_text(CONTROL)
    tool.chmod(0o755)
    return tool
