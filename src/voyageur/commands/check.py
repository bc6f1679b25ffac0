"""`voy check`: is this project ready for that cluster? Every finding with its line, its reason and its fix."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from voyageur.commands.options import Wish, wish_options
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from voyageur.commands.planning import Planned
    from voyageur.findings import Finding


@click.command("check")
@wish_options
@click.option("--json", "as_json", is_flag=True, help="all findings as one JSON document")
@click.option("--sarif", is_flag=True, help="all findings as SARIF 2.1.0, for editors and code hosts")
@click.option("--strict", is_flag=True, help="warnings count like errors")
def command(as_json: bool, sarif: bool, strict: bool, **typed: Any) -> int:
    """Look whether the project is ready for the cluster. Runs nothing of it, and changes nothing.

    The exit code is 1 when an error is left.
    """
    from voyageur.commands.planning import plan_from
    from voyageur.findings import Level
    from voyageur.rules import advice, all_rules
    from voyageur.show.findings import advice_lines, document, findings_text, records
    from voyageur.show.sarif import sarif_document
    from voyageur.show.style import columns, has_colours

    planned = plan_from(Wish(**typed))
    every = find(planned)
    findings = tuple(finding for finding in every if finding.rule not in planned.ignored)
    told = advice(planned.site, planned.ignored)
    if sarif:
        emit_json(sarif_document(findings, {rule.id: rule for rule in all_rules()}))
    elif as_json:
        counted = document(findings, planned.site.name, ignored=len(every) - len(findings))
        emit_json({**counted, "advice": records(told)})
    else:
        text = findings_text(findings, planned.site.name, len(every) - len(findings), has_colours(), columns())
        emit(text)
        if sys.stderr.isatty():
            aside("\n".join(advice_lines(told, planned.site.name, has_colours(sys.stderr), columns())))
    grave = {Level.ERROR, Level.WARNING} if strict else {Level.ERROR}
    return int(any(finding.level in grave for finding in findings))


def find(planned: Planned) -> tuple[Finding, ...]:
    """What the site's rules say of the plan, and what is found in the project's files."""
    from msgspec.structs import replace

    from voyageur.commands.knowing import with_software
    from voyageur.readiness import in_order, look
    from voyageur.rules import judge

    case, files = replace(planned.case, known=with_software(planned)), planned.package.selection.files
    in_files = look(case.spec.project.root, files, case.spec, case.site, case.plan, case.known)
    return in_order([*judge(case), *in_files])
