"""The options of `size`: the load, its targets, the drafts and the machines to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from specplan.api.drafts import SizedDraft
from specplan.options.answer import Pictured, Written
from specplan.options.declared import COUNT, DRAFTED, Whole, option, rare
from specplan.options.deployment import parse_drafts
from specplan.options.plan_options import latency_targets
from specplan.options.values import EngineName, callback, integers, parse_numbers
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


@dataclass(frozen=True)
class SizedLoad:
    """The load and its targets.

    rate: Requests per second of all replicas.
    prompt_tokens: Mean length of prompts, in tokens.
    output_tokens: Mean length of outputs, in tokens.
    length_spread: Standard deviation of both lengths over their means.  [default: 0, all are alike]
    trace: CSV of requests with time (s), prompt_tokens and output_tokens, in place of a rate and
      lengths. Counts the replicas that each hour needs, and what one fixed number wastes.
    targets: Latency targets, e.g. ttft=500,tpot=30 (milliseconds).
    share: Share of requests that must meet both targets.
    """

    rate: float | None = option(metavar="R")
    prompt_tokens: float | None = option(metavar="N")
    output_tokens: float | None = option(metavar="N")
    length_spread: float | None = rare(type=click.FloatRange(min=0), metavar="S")
    trace: Path | None = option(metavar="FILE")
    targets: Mapping[str, float] = option(
        "--slo", required=True, callback=latency_targets, metavar="ttft=MS,tpot=MS"
    )
    share: float = option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, metavar="S"
    )


@dataclass(frozen=True)
class SizedModels:
    """The target and its drafts.

    target_config: The target's config.json.
    drafts: A draft to consider, e.g. config=D/config.json,alpha=0.8 or
      config=D/config.json,rates=0.8/0.6/0.45 (shares of all drafts, by position), with name=NAME
      where it differs from the file's. Several may be given. For multi-token prediction, config is
      the target's.
    dtypes: Number format of both models' weights, or several: bfloat16,fp8.  [default: each
      config's own]
    activations: Format of activations.  [default: 16 bits, or the config's]
    max_gamma: The largest gamma to consider.
    """

    target_config: Path = option(required=True)
    drafts: tuple[SizedDraft, ...] = option(
        "--draft", required=True, multiple=True, callback=parse_drafts, metavar="config=FILE,..."
    )
    dtypes: tuple[str | None, ...] = option("--dtype", default=None, callback=names, metavar="NAME")
    activations: str | None = rare(type=click.Choice(["bfloat16", "float16", "fp8", "int8", "fp4"]))
    max_gamma: int = rare(type=DRAFTED, default=32, metavar="G")


@dataclass(frozen=True)
class SizedMachines:
    """The machines to choose from, and how each replica serves.

    gpus: h100, or several: h100,h200,b200.
    gpus_per_replica: GPUs of a replica, or several numbers.
    dp: Groups of a replica's GPUs that hold all layers but experts, or several numbers.
    ep: Parts into which a mixture's experts are divided, or several numbers.
    prices: Price of a GPU and an hour, e.g. h100=2.5,h200=3.4. The least money is searched then.
    max_gpus: Most GPUs of all replicas together.
    engine: The server. Public measurements of it give its times outside the models, and its limit
      of captured graphs.  [default: any, without a limit]
    slots: Largest number of sequences decoded together; smaller ones are tried, too.
    chunk_tokens: Prompt tokens read in one decoding step; 0: prompts are read in separate steps.
    cached_share: Share of each prompt's tokens that a prefix cache holds, from 0 to below 1.
    """

    gpus: tuple[str, ...] = option("--gpu", required=True, callback=names, metavar="NAME")
    gpus_per_replica: tuple[int, ...] = option(
        callback=integers, metavar="N", help="GPUs of a replica, or several numbers.  [default: "
        "1,2,4,8]",
    )  # fmt: skip
    dp: tuple[int, ...] | None = option(
        callback=integers, metavar="N", help="Groups of a replica's GPUs that hold all layers but "
        "experts, or several numbers.  [default: 1; for mixtures also one for each GPU]",
    )  # fmt: skip
    ep: tuple[int, ...] | None = option(
        callback=integers, metavar="N", help="Parts into which a mixture's experts are divided, or "
        "several numbers.  [default: 1; with several groups one for each GPU]",
    )  # fmt: skip
    prices: Mapping[str, float] | None = option("--price", callback=parse_prices, metavar="GPU=P")
    max_gpus: int = option(type=COUNT, default=64, metavar="N")
    engine: str | None = option(type=EngineName())
    slots: int = rare(type=COUNT, default=256, metavar="N")
    chunk_tokens: int = rare(type=Whole(0), default=2048, metavar="N")
    cached_share: float = option(default=0.0, metavar="SHARE")


@dataclass(frozen=True)
class SizedAnswer(Written, Pictured):
    """The file and the form of the answer.

    server: Print only the flags of each replica.
    """

    server: str | None = option("--export", type=click.Choice(sized_for()))
