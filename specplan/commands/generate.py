"""`specplan generate`: generates text and shows each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from estimator.requests import GAMMA, Generate, GenerateAlone, GenerateBeams
from estimator.settings import MOST_GAMMA
from specplan.options import model_options as shared
from specplan.options.answer import Printed, answer
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, declare, option, rare, takes
from specplan.reports.output import print_json, print_note
from studies.bild import ONE_FALLBACK, ONE_ROLLBACK
from studies.bild.request import GenerateBild

if TYPE_CHECKING:
    from estimator.generation import Started


class ThresholdOptions(shared.BildMeasures):
    """BiLD's thresholds: when to call the large model, and which drafted tokens it replaces."""

    fallback: float | None = rare(
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]"
    )
    rollback: float | None = rare(
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {ONE_ROLLBACK:g}]"
    )


declare(
    GenerateAlone,
    compiling=shared.compile_option,
    stop_strings=option("--stop", multiple=True, metavar="TEXT"),
    seed=option(type=Whole(0)),
)
declare(
    Generate,
    gamma=option(type=Whole(1, MOST_GAMMA), default=GAMMA),
    policy_name=option("--policy", metavar="POLICY"),
    max_gamma=shared.max_gamma_option,
    lenience=shared.lenience_option,
    verification=shared.verification_option,
)
declare(GenerateBeams, beams=option(type=COUNT), draft_beams=option(type=COUNT))


class DecoderOptions:
    """The decoder.

    decoder: autoregressive: no draft; bild: lossy, by thresholds (Kim et al. 2023); beam: beam
      search, drafted --gamma steps ahead (Leviathan et al. 2023, A.4).
    """

    decoder = option(
        type=click.Choice(["autoregressive", "speculative", "bild", "beam"]), default="speculative"
    )


@dataclass(frozen=True)
class GenerateForm(Printed):
    """The form of the text.

    show: One line per block: accepted draft tokens green, rejected ones red, the target's blue.
    """

    show: bool = option(default=False)


@reads(Generate, GenerateForm)
def speculative(request: Generate, form: GenerateForm) -> None:
    from estimator.generation import generate

    _print(generate(request), form)


@reads(GenerateAlone, GenerateForm)
def autoregressive(request: GenerateAlone, form: GenerateForm) -> None:
    from estimator.generation import generate_alone

    _print(generate_alone(request), form)


@reads(GenerateBild, GenerateForm)
def bild(request: GenerateBild, form: GenerateForm) -> None:
    from studies.bild.runs import generate_bild

    _print(generate_bild(request), form, bild=True)


def _print(started: Started, form: GenerateForm, *, bild: bool = False) -> None:
    from estimator.progress import stage
    from specplan.reports.generation import counts, generation_data, print_blocks

    if form.as_json:
        data = generation_data(started.session.finished(), started.tokenizer)
        print_json(data | {"lossless": started.rule.lossless})
        return
    with stage(""):
        generation = print_blocks(started, show=form.show)
    print_note(counts(generation, started.rule, bild=bild))


@reads(GenerateBeams, Printed)
def beams(request: GenerateBeams, form: Printed) -> None:
    """Prints the likeliest continuations of one prompt, found by speculative beam search."""
    from estimator.generation import generate_beams

    search, texts = generate_beams(request)
    beams = list(zip(search.beams, texts, strict=True))
    counted = ("steps", "target_calls", "judged", "covered", "blocks")
    shown_beams = [
        {"text": text, "tokens": beam.tokens, "score": beam.score} for beam, text in beams
    ]
    data = {"beams": shown_beams, **{name: getattr(search, name) for name in counted}}
    lines = [f"{beam.score:.4f}  {text!r}" for beam, text in beams]
    answer(lambda: data, lambda: "\n".join(lines), form=form)
    if form.as_json:
        return
    covered = search.covered / search.judged if search.judged > 0 else 0.0
    print_note(
        f"\n{search.steps} steps in {search.target_calls} target calls; the draft's "
        f"{request.draft_width} beams held the target's {request.beams} at {search.covered} of "
        f"{search.judged} steps ({100 * covered:.0f} %)."
    )


@click.command(
    "generate",
    cls=Command,
    ways={
        "--decoder beam": beams,
        "--decoder bild": bild,
        "--decoder autoregressive": autoregressive,
        "--decoder speculative": speculative,
    },
)
@takes(*shared.MODEL_RECORDS, shared.DraftOptions, heading=shared.MODELS, without=("num_prompts",))
@takes(ThresholdOptions, heading="BiLD")
@takes(Generate, DecoderOptions, GenerateBeams, GenerateForm, without=("draft_temperature",))
def generate_command(**_: object) -> None:
    """Generate text speculatively and watch it work.

    Text appears as it is decoded, block by block; the counts go to stderr.

    \b
    Example:
      specplan generate --prompt "def fib(n):" --gamma 4 --show
      specplan generate --target T --draft D --chat --stop "." \\
        --prompt "Why is the sky blue?"
      specplan generate --decoder bild --fallback 0.6 --rollback 2 \\
        --temperature 0 --show
      specplan generate --decoder beam --beams 4 --prompt "def fib(n):"
    """
