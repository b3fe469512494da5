"""Prices the batches of `specplan traffic`, and builds its servers from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from specplan.options.inputs.profile import MeasuredLoads, OfProfile
from specplan.options.inputs.roofline import Roofline
from specplan.options.kinds import CostKind, prices
from specplan.options.plan_options import Batching
from specplan.reports.output import warn

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.cost import Cost
    from simulator.cost.setting import Wall
    from simulator.traffic.demand import Demand
    from simulator.traffic.pair import Pair
    from simulator.traffic.server import Prompts

# Batch sizes whose step times are computed unless --batch is given; between them times are linear.
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Largest spread of α between requests, as a share of the spread if each α were 0 or 1.
_WIDEST = 0.9


def priced_loads(
    stated: CostKind, known: Profile | None, demand: Demand, batching: Batching
) -> tuple[Cost, ...]:
    """Returns the costs of steps at each batch size, ascending, at the requests' mean context."""
    if isinstance(stated, OfProfile) and known is not None and known.load:
        batches = tuple(sorted({each.batch for each in known.load}))
        stated = MeasuredLoads(profile_path=stated.profile_path, batch=batches)
    if isinstance(stated, Roofline):
        if stated.gpu is not None and "," in stated.gpu:
            raise click.UsageError(f"traffic takes one --gpu, got {stated.gpu}")
        within = [batch for batch in _BATCHES if batch < batching.slots]
        stated = replace(
            stated,
            batch=(*within, batching.slots) if stated.batch is None else stated.batch,
            context=(round(demand.context),) if stated.context is None else stated.context,
        )
    found = sorted(prices(stated, batching.max_gamma, known), key=lambda cost: cost.setting.batch)
    contexts = {None if cost.setting.load is None else cost.setting.load.context for cost in found}
    if len(contexts) > 1 or len({cost.setting.batch for cost in found}) < len(found):
        raise click.UsageError("traffic needs a single cost and context")
    return tuple(found)


def spread_of(known: Profile) -> float:
    """Returns the standard deviation of a profile's α between prompts, stored or by the jackknife.

    Jackknife: a prompt's α is n α - (n - 1) α₋, with α₋ from the other prompts (Tukey 1958).
    """
    from math import sqrt
    from statistics import stdev

    if known.alpha.spread is not None:
        return known.alpha.spread
    if known.left_out is None or len(known.left_out.alpha) < 2:
        return 0.0
    count, alpha = len(known.left_out.alpha), known.alpha.value
    own = [count * alpha - (count - 1) * others for others in known.left_out.alpha]
    return min(stdev(own), _WIDEST * sqrt(alpha * (1 - alpha)))


def pair_of(
    priced: Sequence[Cost],
    accepting: Acceptance,
    demand: Demand,
    batching: Batching,
    wall: Wall | None,
) -> Pair:
    """Returns the modelled server with and without speculation; wall: limit of captured graphs."""
    import numpy as np

    from simulator.cost.fitted.runs import log_gains
    from simulator.numerics.arguments import integer
    from simulator.traffic.blocks import Blocks
    from simulator.traffic.pair import Pair
    from simulator.traffic.server import Server, by_batch

    if not all(cost.in_seconds for cost in priced):
        raise click.UsageError("--c has no times: give --target-ms and --draft-ms, or others")
    most = [cost.setting.longest for cost in priced if cost.setting.longest is not None]
    if batching.gamma is not None:
        longest = integer("gamma", batching.gamma, at_least=1)
        if longest > min(most, default=longest):
            raise ValueError(f"gamma must be at most {min(most)}, the longest draft, got {longest}")
    else:
        longest = min([integer("max-gamma", batching.max_gamma, at_least=1), *most])
    gammas = np.arange(1, longest + 1)
    lengths = accepting.tokens_per_call(gammas)
    times = [
        [cost.baseline_seconds, *accepting.seconds_per_token(gammas, cost) * lengths]
        for cost in priced
    ]
    batches = [cost.setting.batch for cost in priced]
    if len(batches) == 1 and batching.slots > 1:
        warn(
            f"only batch {batches[0]} was measured; larger batches are assumed equally fast, which "
            "is too optimistic: give --target-config, a profile of 'measure --batch', or a --run "
            "of several batches"
        )
    with_draft, alone = _prompts(priced[0], demand, batching)
    spread = 0.0 if batching.alpha_spread is None else batching.alpha_spread
    server = Server(
        by_batch(batches, times, batching.slots),
        Blocks.of(accepting, longest, spread=spread),
        with_draft,
        _cache_tokens(priced) if batching.cache_tokens is None else batching.cache_tokens,
    )
    observed = gammas[: accepting.most_gamma].tolist()
    timed = [gamma for gamma in observed if gamma in priced[0].setting.timed] or observed
    only = timed if batching.gamma is None else [batching.gamma]
    captured = [gamma for gamma in only if wall is None or wall.most_batch(gamma) > 0]
    if wall is not None and not captured:
        raise click.UsageError(
            f"gamma must be at most {wall.most - 1}: captured graphs have {wall.most} {wall.unit} "
            f"a step ({wall.flag}), got {only[0]}"
        )
    measured = {cost.setting.batch: log_gains(cost.own_runs) for cost in priced}
    known = all(cost.posterior is None or cost.posterior.calibrated for cost in priced)
    return Pair(server, server.without(alone), demand, tuple(captured), measured, known, wall)


def _prompts(cost: Cost, demand: Demand, batching: Batching) -> tuple[Prompts, Prompts]:
    """Returns the times that a server takes to read prompts, with a draft and without one."""
    from simulator.traffic.server import Prompts

    chunk = batching.chunk_tokens or None
    step, tokens = cost.baseline_seconds, max(round(demand.prompt_tokens), 1)
    if batching.prompt_ms is not None:
        seconds = batching.prompt_ms / 1e3
        points = {1: min(step, seconds), tokens: seconds}
        return Prompts(points, chunk), Prompts(points, chunk)
    places = sorted({1, *(max(1, tokens * part // 4) for part in (1, 2, 4, 8, 16))})
    found = [reading for n in places if (reading := cost.prompt_seconds(n)) is not None]
    if not found:
        raise click.UsageError("give --prompt-ms: these costs have no time of a prompt")
    alone, both = (dict(zip(places, each, strict=True)) for each in zip(*found, strict=True))
    return Prompts(both, chunk), Prompts(alone, chunk)


def _cache_tokens(priced: Sequence[Cost]) -> float | None:
    """Returns how many cached tokens fit into GPU memory next to the weights; None: not known."""
    first, last = priced[0].setting.load, priced[-1].setting.load
    if first is None or last is None or first is last or first.memory_gb is None:
        return None
    least, most = first.needed_gb or 0.0, last.needed_gb or 0.0
    of_one = (most - least) / (priced[-1].setting.batch - priced[0].setting.batch)
    free = first.memory_gb - (least - priced[0].setting.batch * of_one)
    return max(0.0, free / of_one * first.context)
