"""`generate --decoder beam`: beam search, drafted ahead by beam search with the draft model."""

from __future__ import annotations

from typing import Any

import click

from estimator.generation.beams import FoundBeams, GenerateBeams, generate_beams
from specplan.options.shown import Printed
from specplan.reports.output import print_json, tell


def beams(request: GenerateBeams, form: Printed) -> None:
    """Searches for the likeliest continuations of one prompt and prints them."""
    found = generate_beams(request)
    if form.as_json:
        print_json(_as_data(found))
        return
    search = found.search
    for beam, text in zip(search.beams, found.texts, strict=True):
        click.echo(f"{beam.score:.4f}  {text!r}")
    covered = search.covered / search.judged if search.judged > 0 else 0.0
    tell(
        f"\n{search.steps} steps in {search.target_calls} target calls; the draft's "
        f"{request.draft_width} beams held the target's {request.beams} at {search.covered} of "
        f"{search.judged} steps ({100 * covered:.0f} %)."
    )


def _as_data(found: FoundBeams) -> dict[str, Any]:
    search = found.search
    return {
        "beams": [
            {"text": text, "tokens": list(beam.tokens), "score": beam.score}
            for beam, text in zip(search.beams, found.texts, strict=True)
        ],
        "steps": search.steps,
        "target_calls": search.target_calls,
        "judged": search.judged,
        "covered": search.covered,
        "blocks": [
            {"drafted": block.drafted, "steps": block.steps, "fed": block.fed}
            for block in search.blocks
        ],
    }
