"""What a name stands for: `p.show` is `matplotlib.pyplot.show` after `import matplotlib.pyplot as p`."""

from __future__ import annotations

import ast

OWN = "~"  # whatever the project itself calls so; never one of the names that are looked for
_LONGEST_CHAIN = 30


class Scopes:
    """Names and texts that are known at this point of a file; a function begins with a copy of what is known."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._texts: dict[str, tuple[str, int]] = {}
        self._around: list[tuple[dict[str, str], dict[str, tuple[str, int]]]] = []
        self._of_self: dict[str, str] = {}

    def enter(self, own: list[str]) -> None:
        self._around.append((self._names, self._texts))
        self._names, self._texts = self._names.copy(), self._texts.copy()
        for name in own:
            self.bind(name, OWN)

    def leave(self) -> None:
        self._names, self._texts = self._around.pop()

    def bind(self, name: str, meaning: str | None) -> None:
        self._names[name] = meaning or OWN
        self._texts.pop(name, None)

    def bind_of_self(self, attribute: str, meaning: str) -> None:
        """`self.figure`: bound in one method, used in another."""
        self._of_self[attribute] = meaning

    def keep_text(self, name: str, text: str, line: int) -> None:
        self._texts[name] = (text, line)

    def meaning(self, name: str) -> str:
        return self._names.get(name, name)

    def text(self, name: str) -> tuple[str, int] | None:
        return self._texts.get(name)

    def dotted(self, node: ast.expr | None) -> str:
        """`PIL.Image.open().show` for `Image.open(path).show`. What cannot be told is `?`."""
        tail: list[str] = []
        for _ in range(_LONGEST_CHAIN):
            if isinstance(node, ast.Name):
                meaning = self._names.get(node.id, node.id)
                return meaning + "".join(reversed(tail)) if tail else meaning
            if isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    known = self._of_self.get(node.attr) or f"{OWN}.{node.attr}"
                    return known + "".join(reversed(tail))
                tail.append(f".{node.attr}")
                node = node.value
            elif isinstance(node, ast.Call):
                tail.append("()")
                node = node.func
            elif isinstance(node, ast.Subscript):
                tail.append("[]")
                node = node.value
            elif isinstance(node, ast.Await):
                node = node.value
            else:
                break
        return "?" + "".join(reversed(tail))
