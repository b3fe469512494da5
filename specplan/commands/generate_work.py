"""Prints the text of `specplan generate` block by block, or the results of a beam search."""

from dataclasses import dataclass

import click

from estimator.generation.beams import GenerateBeams, generate_beams
from estimator.generation.text import Generate, GenerateAlone, Started, generate, generate_alone
from reference.records import Generation
from specplan.reports.generation import bild_counts, counts, generation_data, print_blocks
from specplan.reports.output import Printed, print_json, tell
from studies.bild.request import GenerateBild, generate_bild


@dataclass(frozen=True)
class GenerateForm(Printed):
    """The form of the printed text; see each option's help."""

    show: bool = False


def speculative(request: Generate, form: GenerateForm) -> None:
    """Generates text with the target and its draft by speculative decoding, and prints it."""
    _print(generate(request), form)


def alone(request: GenerateAlone, form: GenerateForm) -> None:
    """Generates text with the target only, and prints it."""
    _print(generate_alone(request), form)


def bild(request: GenerateBild, form: GenerateForm) -> None:
    """Generates text with BiLD, and prints it."""
    _print(generate_bild(request), form, bild=True)


def _print(started: Started, form: GenerateForm, *, bild: bool = False) -> None:
    text = started.session
    if form.as_json:
        data = generation_data(text.finished(), started.tokenizer)
        print_json(data | {"lossless": started.rule.lossless})
        return
    blocks = print_blocks(text.blocks, started.tokenizer, started.before, form.show)
    generation = Generation(tuple(text.text), tuple(blocks), text.prefill_seconds)
    tell(counts(generation, started.rule, bild_counts(generation) if bild else ""))


def beams(request: GenerateBeams, form: Printed) -> None:
    """Prints the likeliest continuations of one prompt, found by speculative beam search."""
    search, texts = generate_beams(request)
    beams = list(zip(search.beams, texts, strict=True))
    if form.as_json:
        counted = ("steps", "target_calls", "judged", "covered")
        print_json(
            {
                "beams": [
                    {"text": text, "tokens": beam.tokens, "score": beam.score}
                    for beam, text in beams
                ],
                **{name: getattr(search, name) for name in counted},
                "blocks": search.blocks,
            }
        )
        return
    for beam, text in beams:
        click.echo(f"{beam.score:.4f}  {text!r}")
    covered = search.covered / search.judged if search.judged > 0 else 0.0
    tell(
        f"\n{search.steps} steps in {search.target_calls} target calls; the draft's "
        f"{request.draft_width} beams held the target's {request.beams} at {search.covered} of "
        f"{search.judged} steps ({100 * covered:.0f} %)."
    )
