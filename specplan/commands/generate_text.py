"""`specplan generate` of one text, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from estimator.generation.speculative import Generate, GenerateAlone, generate, generate_alone
from estimator.generation.text import Started
from reference.records import Generation
from specplan.reports.generation import bild_counts, counts, generation_data, print_blocks
from specplan.reports.output import print_json, tell
from studies.bild.generation import GenerateBild, generate_bild


@dataclass(frozen=True, slots=True)
class Shown:
    """How a text is given; see each option's help."""

    show: bool = False
    as_json: bool = False


def speculative(request: Generate, form: Shown) -> None:
    """Prints a text of a pair."""
    _print(generate(request), form)


def alone(request: GenerateAlone, form: Shown) -> None:
    """Prints a text of the target alone."""
    _print(generate_alone(request), form)


def bild(request: GenerateBild, form: Shown) -> None:
    """Prints a text of BiLD."""
    _print(generate_bild(request), form, bild=True)


def _print(started: Started, form: Shown, *, bild: bool = False) -> None:
    text = started.begun
    if form.as_json:
        data = generation_data(text.finished(), started.tokenizer)
        print_json(data | {"lossless": started.rule.lossless})
        return
    blocks = print_blocks(text.blocks, started.tokenizer, started.before, form.show)
    generation = Generation(tuple(text.text), tuple(blocks), text.prefill_seconds)
    tell(counts(generation, started.rule, bild_counts(generation) if bild else ""))
