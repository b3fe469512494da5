"""Options that state both models or several drafts, their machine and their load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.api.deployed import DATA_SHEET, Deployed, Loads, OwnGpu
from specplan.options.declared import declare, option, rare
from specplan.options.values import (
    EngineName,
    FormatName,
    callback,
    contexts,
    duration,
    integer_ranges,
    integers,
    listing,
    parse_numbers,
)

if TYPE_CHECKING:
    from simulator.acceptance.acceptance import Acceptance
    from specplan.api.drafts import SizedDraft

FORMATS = (
    "bfloat16", "float16", "float32", "fp8", "int8", "int4", "mxfp4", "nvfp4", "q8_0", "q4_0",
)  # fmt: skip
# Fields of `Deployed` that must be stated, and fields that replace one of them.
NEEDS = ("target_config", "draft_config", "gpu")
WANTS = {
    "draft_config": "the config.json of the draft model, or of the head (EAGLE-3, DFlash, ...)"
}
_DRAFT_KEYS = ("config", "alpha", "rates", "name", "temperature")
INSTEAD = {"gpu": ("gpu_flops", "gpu_bandwidth", "gpu_memory")}


def _gpus() -> list[str]:
    from simulator.cost.roofline.hardware import ALIASES, CATALOGUE

    return sorted([*CATALOGUE, *ALIASES])


declare(
    OwnGpu,
    gpu_flops=rare(metavar="T"),
    gpu_bandwidth=rare(metavar="GB/S"),
    gpu_memory=rare(metavar="GB"),
)
declare(
    Deployed,
    engine=option("--engine", type=EngineName()),
    cost_model=rare(type=click.Choice(("kernels", "public", DATA_SHEET))),
    gpu=option(metavar="NAME", callback=listing(_gpus)),
    tp=option(type=str, callback=integers, metavar="N"),
    dp=option(metavar="N"),
    ep=option(metavar="N"),
    draft_tp=rare(metavar="N"),
    dtype=rare(type=FormatName(FORMATS)),
    draft_dtype=rare(type=FormatName(FORMATS)),
    draft_sampling=rare(type=click.Choice(["sampled", "argmax"])),
    draft_launch=rare(type=click.Choice(["graphs", "eager"])),
    activations=rare(type=FormatName(("bfloat16", "float16", "fp8", "int8", "fp4"))),
    expert_reuse=rare(metavar="R"),
    efficiency=rare(metavar="E"),
    layer_overhead_us=rare(callback=duration),
    no_cache=rare(),
)
declare(
    Loads,
    batch=option(callback=integer_ranges, metavar="B"),
    context=option(callback=contexts, metavar="L"),
)


@callback
def parse_drafts(values: tuple[str, ...]) -> tuple[SizedDraft, ...]:
    """Returns the drafts of --draft, each config=FILE,alpha=A or config=FILE,rates=R/R/...."""
    return tuple(map(parse_draft, values))


@callback
def parse_named(values: tuple[str, ...]) -> tuple[SizedDraft | str, ...]:
    """Returns the single name of --draft, or the drafts if they have keys (KEY=VALUE)."""
    if len(values) == 1 and "=" not in values[0]:
        return values
    return tuple(map(parse_draft, values))


def parse_draft(text: str) -> SizedDraft:
    """Returns the draft that a text of the form "KEY=VALUE,..." states.

    config: the draft's config.json; the target's for multi-token prediction.
    alpha, or rates (R/R/..., shares of all drafts): its acceptance.
    temperature: temperature at which the acceptance holds.
    name: its name in the answer.
    """
    from simulator.acceptance.acceptance import Iid
    from simulator.acceptance.accepted import Accepted
    from simulator.acceptance.from_counts import from_counts
    from specplan.api.drafts import SizedDraft

    stated: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _DRAFT_KEYS:
            raise ValueError(
                f"must be KEY=VALUE,... with keys {', '.join(_DRAFT_KEYS)}, got {part!r}"
            )
        if key in stated:
            raise ValueError(f"{key} is given twice in {text!r}")
        stated[key] = value
    if "config" not in stated or ("alpha" in stated) == ("rates" in stated):
        raise ValueError(f"must state config and one of alpha and rates, got {text!r}")
    acceptance: Acceptance
    if "alpha" in stated:
        acceptance = Iid(parse_numbers(stated["alpha"])[0])
    else:
        rates = [parse_numbers(rate)[0] for rate in stated["rates"].split("/")]
        acceptance = from_counts([Accepted.of_rates(rates)])
    if (heat := stated.get("temperature")) is not None:
        if not 0 <= (temperature := parse_numbers(heat)[0]) < float("inf"):
            raise ValueError(f"temperature must be at least 0, got {heat}")
        acceptance = replace(acceptance, source=replace(acceptance.source, temperature=temperature))
    return SizedDraft(Path(stated["config"]), acceptance, stated.get("name"))


@dataclass(frozen=True)
class DraftsOptions:
    """Drafts to compare, or the name of one.

    drafts: A draft to compare with others at one load: config=FILE,alpha=A or
      config=FILE,rates=R/R/..., with name=NAME, once for each draft. Or the draft model's name, for
      --export; with --target, its size is used to check c.
    """

    drafts: tuple[Any, ...] = option(
        "--draft", multiple=True, callback=parse_named, metavar="NAME|config=FILE,...", default=()
    )

    @property
    def name(self) -> str | None:
        """The name, if only a name was stated."""
        return next((draft for draft in self.drafts if isinstance(draft, str)), None)

    @property
    def described(self) -> tuple[SizedDraft, ...]:
        """The drafts with a configuration and an acceptance."""
        return tuple(draft for draft in self.drafts if not isinstance(draft, str))
