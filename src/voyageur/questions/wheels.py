"""Which requirements the site's wheelhouse has."""

from __future__ import annotations

from collections.abc import Sequence

from voyageur.allowance.wheels import Wheel, is_bound, nearest_version, plain_name, versions_from, wheels_argv
from voyageur.hosts import Host
from voyageur.questions.bounded import ask_program
from voyageur.site import Site
from voyageur.units import Duration

PATIENCE = Duration(30)


def ask_wheels(
    host: Host, site: Site, requirements: Sequence[str], python: str | None = None, patience: Duration = PATIENCE
) -> tuple[Wheel, ...] | None:
    """None when there is no wheelhouse to ask, or no answer. `python` is a version like 3.11."""
    command = site.software.wheels_command
    wanted = [requirement.strip() for requirement in requirements if requirement.strip()]
    if not command or not wanted:
        return None if not command else ()
    found = _versions(host, wheels_argv(command, wanted, python=python, all_versions=False), patience)
    if found is None:
        return None
    wheels = [_wheel(requirement, found.get(plain_name(requirement), [])) for requirement in wanted]
    bound = [wheel.requirement for wheel in wheels if not wheel.is_there and is_bound(wheel.requirement)]
    others = _others(host, command, bound, python, patience)
    return tuple(
        wheel if wheel.is_there else Wheel(requirement=wheel.requirement, nearest=others.get(wheel.requirement))
        for wheel in wheels
    )


def missing_wheels(wheels: Sequence[Wheel] | None) -> tuple[str, ...]:
    return tuple(str(wheel) for wheel in wheels or () if not wheel.is_there)


def _wheel(requirement: str, versions: Sequence[str]) -> Wheel:
    return Wheel(requirement=requirement, version=versions[0] if versions else None)


def _others(host: Host, command: str, bound: Sequence[str], python: str | None, patience: Duration) -> dict[str, str]:
    """Of those that are not there as wanted: in which version they are."""
    if not bound:
        return {}
    names = list(dict.fromkeys(plain_name(requirement) for requirement in bound))
    found = _versions(host, wheels_argv(command, names, python=python, all_versions=True), patience) or {}
    near = {requirement: nearest_version(requirement, found.get(plain_name(requirement), [])) for requirement in bound}
    return {requirement: version for requirement, version in near.items() if version}


def _versions(host: Host, argv: Sequence[str], patience: Duration) -> dict[str, list[str]] | None:
    answer = ask_program(host, argv, patience)
    return versions_from(answer.output) if answer and answer.ok else None
