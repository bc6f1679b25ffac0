"""A launcher that nobody here has heard of: the user's own line, once on every node, the command behind it."""

from __future__ import annotations

from voyageur.errors import SpecError
from voyageur.launch.style import Launcher, Style, Wanted


class Custom(Style):
    name = "custom"
    title = "a launcher of your own: `launch.line`, once on every node"
    death = "as that launcher does it; the step ends when it fails on one node"
    signal = "the processes that listen"

    def launcher(self, wanted: Wanted) -> Launcher:
        return Launcher(words=wanted.line)

    def refuse(self, wanted: Wanted) -> None:
        if not wanted.line:
            raise SpecError(
                "`custom` has no line to start with",
                hint='write it under [launch]: `line = "mylauncher --node {NODE_RANK} --head {MASTER_ADDR}"`',
            )


STYLE = Custom()
