"""What a name stands for: `p.show` is `matplotlib.pyplot.show` after `import matplotlib.pyplot as p`."""

from __future__ import annotations

import ast

OWN = "~"  # whatever the project itself calls so; never one of the names that are looked for
_LONGEST_CHAIN = 30


class Scopes:
    """Names and texts that are known at this point of a file, those of the innermost function first."""

    def __init__(self) -> None:
        self._names: list[dict[str, str]] = [{}]
        self._texts: list[dict[str, tuple[str, int]]] = [{}]

    def enter(self, own: list[str]) -> None:
        self._names.append(dict.fromkeys(own, OWN))
        self._texts.append({})

    def leave(self) -> None:
        self._names.pop()
        self._texts.pop()

    def bind(self, name: str, meaning: str | None) -> None:
        self._names[-1][name] = meaning or OWN
        self._texts[-1].pop(name, None)

    def bind_everywhere(self, name: str, meaning: str) -> None:
        """`self.figure`: bound in one method, used in another."""
        self._names[0][name] = meaning

    def keep_text(self, name: str, text: str, line: int) -> None:
        self._texts[-1][name] = (text, line)

    def meaning(self, name: str) -> str:
        for scope in reversed(self._names):
            if name in scope:
                return scope[name]
        return name

    def text(self, name: str) -> tuple[str, int] | None:
        for names, texts in zip(reversed(self._names), reversed(self._texts), strict=True):
            if name in texts:
                return texts[name]
            if name in names:
                return None
        return None

    def dotted(self, node: ast.expr | None) -> str:
        """`PIL.Image.open().show` for `Image.open(path).show`. What cannot be told is `?`."""
        tail: list[str] = []
        for _ in range(_LONGEST_CHAIN):
            if isinstance(node, ast.Name):
                return self.meaning(node.id) + "".join(reversed(tail))
            if isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    return self._of_self(node.attr) + "".join(reversed(tail))
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

    def _of_self(self, attribute: str) -> str:
        return self._names[0].get(f"self.{attribute}", f"{OWN}.{attribute}")
