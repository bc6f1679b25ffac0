"""Words that several decisions give for themselves."""

from __future__ import annotations

from voyageur.spec import Spec


def asked(spec: Spec, key: str) -> str:
    return f"asked for by {spec.source(key)}" if spec.says(key) else "default"
