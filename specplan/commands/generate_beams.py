"""`generate --decoder beam`: beam search, drafted ahead by beam search with the draft model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from specplan.options.model_options import ModelOptions
from specplan.reports.output import folded, print_json

if TYPE_CHECKING:
    from reference.speculative_beams import BeamSearch

WIDTH = 4
# Of generate's options those that only sampling knows.
_OF_SAMPLING = (
    "temperature", "draft_temperature", "top_k", "top_p", "min_p", "repetition_penalty", "lenience",
    "verification", "policy_name", "stop_strings", "show",
)  # fmt: skip


def generate_beams(
    options: ModelOptions,
    prompt: str | None,
    *,
    width: int | None,
    draft_width: int | None,
    gamma: int,
    as_json: bool,
) -> None:
    """Searches for the likeliest continuations of one prompt and prints them.

    Args:
      options: models and prompt.
      prompt: text that takes the place of the options' prompts.
      width, draft_width: beams of the search and of the draft's; None: by default.
      gamma: steps drafted ahead.
      as_json: whether to print one JSON object.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    from estimator.loading.pairs import draft_names, load
    from reference.beams import Search
    from reference.drafters.model_drafter import ModelDrafter
    from reference.laws.sampling import Sampling
    from reference.speculative_beams import beam_search, require_widths

    context = click.get_current_context()
    for name in _OF_SAMPLING:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise ValueError(f"{name.removesuffix('_name')} cannot be given with --decoder beam")
    own = WIDTH if width is None else width
    wide = 2 * own if draft_width is None else draft_width
    require_widths(own, wide)
    names = draft_names(options.models)
    if len(names) > 1:
        raise ValueError(f"draft must be given once, got {', '.join(names)}")
    loaded = load(options.models, replace(options.text, num_prompts=1), prompt=prompt)
    [drafter_of] = loaded.drafters.values()
    drafter = drafter_of(Sampling(0.0))
    if not isinstance(drafter, ModelDrafter):
        raise ValueError(f"draft must be a model for --decoder beam, got {names[0]}")
    [ids] = loaded.prompts
    stopping = loaded.stopping
    limits = [model.max_length for model in (loaded.target, drafter.draft)]
    longest = len(loaded.target.beginning(ids)) + stopping.max_new_tokens
    for limit in limits:
        if limit is not None and longest > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {limit} positions of both models, got "
                f"{longest}"
            )
    found = beam_search(
        loaded.target,
        ids,
        search=Search(own, stopping.max_new_tokens, frozenset(stopping.end_ids)),
        draft=drafter.draft,
        draft_width=wide,
        gamma=gamma,
    )

    def decoded(tokens: tuple[int, ...]) -> str:
        return str(loaded.tokenizer.decode(list(tokens), skip_special_tokens=True))

    if as_json:
        print_json(_as_data(found, [decoded(beam.tokens) for beam in found.beams]))
        return
    for beam in found.beams:
        click.echo(f"{beam.score:.4f}  {decoded(beam.tokens)!r}")
    covered = found.covered / found.judged if found.judged > 0 else 0.0
    click.echo(
        folded(
            f"\n{found.steps} steps in {found.target_calls} target calls; the draft's {wide} beams "
            f"held the target's {own} at {found.covered} of {found.judged} steps "
            f"({100 * covered:.0f} %)."
        ),
        err=True,
    )


def _as_data(found: BeamSearch, texts: list[str]) -> dict[str, Any]:
    return {
        "beams": [
            {"text": text, "tokens": list(beam.tokens), "score": beam.score}
            for beam, text in zip(found.beams, texts, strict=True)
        ],
        "steps": found.steps,
        "target_calls": found.target_calls,
        "judged": found.judged,
        "covered": found.covered,
        "blocks": [
            {"drafted": block.drafted, "steps": block.steps, "fed": block.fed}
            for block in found.blocks
        ],
    }
