"""The options of `size`: the load, its targets, the drafts and the machines to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from specplan.api.drafts import SizedDraft
from specplan.api.size_settings import SizedLoad, SizedMachines
from specplan.options.answer import Pictured, Written
from specplan.options.declared import COUNT, DRAFTED, Whole, declare, option, rare
from specplan.options.deployment import FORMATS, parse_drafts
from specplan.options.plan_options import latency_targets
from specplan.options.values import (
    EngineName,
    FormatName,
    callback,
    integers,
    parse_numbers,
    share_of,
)
from specplan.reports.replica_flags import sized_for


@callback
def parse_prices(text: str) -> Mapping[str, float]:
    """Returns prices by GPU from h100=2.5,h200=3.4."""
    prices: dict[str, float] = {}
    for part in text.split(","):
        name, equals, price = (piece.strip() for piece in part.partition("="))
        if not equals or name in prices:
            raise ValueError(f"must be GPU=PRICE,..., each GPU once, got {part!r}")
        (prices[name],) = parse_numbers(price)
        if not 0 < prices[name] < float("inf"):
            raise ValueError(f"must be above 0, got {part!r}")
    return prices


@callback
def names(text: str) -> tuple[str, ...]:
    """Returns the names of a list with commas."""
    return tuple(part.strip() for part in text.split(","))


@callback
def formats(text: str) -> tuple[str, ...]:
    """Returns the number formats of a list with commas, in small letters."""
    read = FormatName(FORMATS).convert
    return tuple(read(part.strip().lower(), None, None) for part in text.split(","))


@callback
def open_share(value: str) -> float:
    """Returns a share between 0 and 1, both excluded: 0.95, 95%."""
    (share,) = parse_numbers(value)
    if not 0 < share_of(share) < 1:
        raise ValueError(f"must lie between 0 and 1, got {share:g}")
    return share


declare(
    SizedLoad,
    rate=option(metavar="R"),
    prompt_tokens=option(metavar="N"),
    output_tokens=option(metavar="N"),
    length_spread=rare(type=click.FloatRange(min=0), metavar="S"),
    trace=option(metavar="FILE"),
    targets=option("--slo", required=True, callback=latency_targets, metavar="ttft=MS,tpot=MS"),
    share=option(type=str, callback=open_share, metavar="S"),
)
declare(
    SizedMachines,
    gpus=option("--gpu", required=True, callback=names, metavar="NAME"),
    dtypes=option("--dtype", callback=formats, metavar="NAME"),
    activations=rare(type=click.Choice(["bfloat16", "float16", "fp8", "int8", "fp4"])),
    max_gamma=rare(type=DRAFTED, metavar="G"),
    gpus_per_replica=option(
        default=",".join(map(str, SizedMachines.gpus_per_replica)), callback=integers, metavar="N"
    ),
    dp=option(callback=integers, metavar="N"),
    ep=option(callback=integers, metavar="N"),
    prices=option("--price", callback=parse_prices, metavar="GPU=P"),
    max_gpus=option(type=COUNT, metavar="N"),
    engine=option(type=EngineName()),
    slots=rare(type=COUNT, metavar="N"),
    chunk_tokens=rare(type=Whole(0), metavar="N"),
    cached_share=option(metavar="SHARE"),
)


@dataclass(frozen=True)
class SizedPair:
    """The target and its drafts.

    target_config: The target's config.json.
    drafts: A draft to consider (for MTP, config is the target's), e.g.
      config=D/config.json,alpha=0.8 or config=D/config.json,rates=0.8/0.6/0.45 (shares of all
      drafts, by position), with name=NAME where it differs from the file's, and temperature=T of
      the acceptance. Several may be given.
    """

    target_config: Path = option(required=True)
    drafts: tuple[SizedDraft, ...] = option(
        "--draft", required=True, multiple=True, callback=parse_drafts, metavar="config=FILE,..."
    )


@dataclass(frozen=True)
class SizedAnswer(Written, Pictured):
    """The file and the form of the answer.

    server: Print only the flags of each replica.
    """

    server: str | None = option("--export", type=click.Choice(sized_for()))
