"""`voy completion`: what the shell needs to complete Voyageur's words."""

from __future__ import annotations

import click

from voyageur.show.output import emit

# The same function serves `voyageur`: click registers it for one name.
_OTHER_NAME = {
    "bash": "complete -o nosort -F _voy_completion voyageur",
    "zsh": "(( $+functions[compdef] )) && compdef _voy_completion voyageur",
    "fish": 'complete --no-files --command voyageur --arguments "(_voy_completion)";',
}


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for your shell: `voy completion bash >> ~/.bashrc`."""
    from click.shell_completion import get_completion_class

    from voyageur.commands.verbs import voy

    found = get_completion_class(shell)
    assert found is not None
    emit(found(voy, {}, "voy", "_VOY_COMPLETE").source().rstrip("\n") + "\n" + _OTHER_NAME[shell])
