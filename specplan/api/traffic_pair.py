"""Costs of a server's batches under load, and the modelled servers made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from statistics import stdev
from typing import TYPE_CHECKING

import numpy as np

from engines.kind import engine_kinds
from simulator.choice.curve import tokens_per_block
from simulator.cost.costs import Costs
from simulator.numerics.arguments import integer
from simulator.traffic.blocks import Blocks
from simulator.traffic.pair import Pair
from simulator.traffic.policy import shortened
from simulator.traffic.server import Prompts, Server, by_batch
from specplan.api.completed_costs import with_c_hat, zeroed
from specplan.api.settings import Batching

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.cost import Cost
    from simulator.cost.setting import Wall
    from simulator.traffic.demand import Demand

# Largest spread of α between requests, as a share of the spread if each α were 0 or 1.
_WIDEST = 0.9
PROMPT_TIME = (
    "`prompt_ms` (time to the first token of one request on the idle server), or `gpu` and both "
    "configurations"
)


def costs_under_load(
    costs: Costs, demand: Demand, batching: Batching, c_hat: float | None = None
) -> tuple[Cost, ...]:
    """Returns the costs of steps at each batch size, ascending, at the requests' mean context."""
    engine, context = engine_kinds().get(costs.server or ""), round(demand.context)
    loaded = costs.under_load(batching.slots, context, max_gamma=batching.max_gamma)
    some = [zeroed(cost, engine) for cost in with_c_hat(loaded, c_hat)]
    by_batch = sorted(some, key=lambda cost: cost.setting.batch)
    contexts = {None if e.setting.load is None else e.setting.load.context for e in by_batch}
    if len(contexts) > 1 or len({cost.setting.batch for cost in by_batch}) < len(by_batch):
        raise ValueError("traffic needs a single cost and context")
    return tuple(by_batch)


def spread_of(known: Profile) -> float:
    """Returns the standard deviation of a profile's α between prompts, stored or by the jackknife.

    Jackknife: a prompt's α is n α - (n - 1) α₋, with α₋ from the other prompts (Tukey 1958).
    """
    if known.alpha.spread is not None:
        return known.alpha.spread
    if known.left_out is None or len(known.left_out.alpha) < 2:
        return 0.0
    count, alpha = len(known.left_out.alpha), known.alpha.value
    rates = [count * alpha - (count - 1) * others for others in known.left_out.alpha]
    return min(stdev(rates), _WIDEST * sqrt(alpha * (1 - alpha)))


def pair_of(
    priced: Sequence[Cost],
    accepting: Acceptance,
    demand: Demand,
    batching: Batching,
    wall: Wall | None,
) -> Pair:
    """Returns the modelled server with and without speculation; wall: limit of captured graphs."""
    if not all(cost.in_seconds for cost in priced):
        raise ValueError("`c` has no times: give `target_ms` and `draft_ms`, or others")
    most = [cost.setting.longest for cost in priced if cost.setting.longest is not None]
    if batching.gamma is not None:
        longest = integer("gamma", batching.gamma, at_least=1)
        if longest > min(most, default=longest):
            raise ValueError(f"gamma must be at most {min(most)}, the longest draft, got {longest}")
    else:
        longest = min([integer("max_gamma", batching.max_gamma, at_least=1), *most])
    gammas = np.arange(1, longest + 1)
    # Blocks have the lengths of all runs together, and no position adds more tokens than the one
    # before it. So a block's time carries what a plan's lengths differ from these, and a token
    # takes the time that the plan says.
    lengths, blocks = accepting.tokens_per_call(gammas), Blocks.of(accepting, longest)
    times = [
        [
            cost.baseline_seconds,
            *accepting.seconds_per_token(gammas, cost)
            * lengths
            / tokens_per_block(accepting, cost, gammas)
            * blocks.tokens[0, 1:],
        ]
        for cost in priced
    ]
    batches = [cost.setting.batch for cost in priced]
    with_draft, alone = (
        prompts.cached(batching.cached_share) for prompts in _prompts(priced[0], demand, batching)
    )
    spread = 0.0 if batching.alpha_spread is None else batching.alpha_spread
    held, held_alone = (
        _cache_tokens(priced, name) if batching.cache_tokens is None else batching.cache_tokens
        for name in ("needed_gb", "target_gb")
    )
    if spread > 0:
        blocks = Blocks.of(accepting, longest, spread=spread)
    server = Server(by_batch(batches, times, batching.slots), blocks, with_draft, held)
    alone_server = replace(server.without(alone), cache_tokens=held_alone)
    zeros = [1.0 if cost.setting.zero is None else cost.setting.zero.ratio for cost in priced]
    if max(zeros) != 1 or min(zeros) != 1:
        # A server that has its draft pays for it where it drafts nothing.
        seconds = server.seconds.copy()
        seconds[:, 0] *= by_batch(batches, [[zero] for zero in zeros], batching.slots)[:, 0]
        server = replace(server, seconds=seconds)
    observed = gammas[priced[0].setting.allows(gammas)]
    observed = observed[observed <= (accepting.most_gamma or longest)].tolist()
    timed = [gamma for gamma in observed if gamma in priced[0].setting.timed] or observed
    only = timed if batching.gamma is None else [batching.gamma]
    captured = [gamma for gamma in only if wall is None or wall.most_batch(gamma) > 0]
    if wall is not None and not captured:
        raise ValueError(
            f"gamma must be at most {wall.most - 1}: captured graphs have {wall.most} {wall.unit} "
            f"a step ({wall.flag}), got {only[0]}"
        )
    measured = {cost.setting.batch: _measured(cost) for cost in priced}
    known = all(cost.posterior is None or cost.posterior.calibrated for cost in priced)
    pair = Pair(server, alone_server, demand, tuple(captured), measured, known, wall)
    return shortened(pair) if batching.gamma is None else pair


def _prompts(cost: Cost, demand: Demand, batching: Batching) -> tuple[Prompts, Prompts]:
    """Returns the times that a server takes to read prompts, with a draft and without one."""
    chunk = batching.chunk_tokens or None
    step, tokens = cost.baseline_seconds, max(round(demand.prompt_tokens), 1)
    if batching.prompt_ms is not None:
        seconds = batching.prompt_ms / 1e3
        points = {1: min(step, seconds), tokens: seconds}
        return Prompts(points, chunk), Prompts(points, chunk)
    places = sorted({1, *(max(1, tokens * part // 4) for part in (1, 2, 4, 8, 16))})
    readings = [reading for n in places if (reading := cost.prompt_seconds(n)) is not None]
    if not readings:
        raise ValueError(f"these costs have no time of a prompt: give {PROMPT_TIME}")
    dp = 1 if cost.setting.load is None else cost.setting.load.dp
    every = (dict(zip(places, times, strict=True)) for times in zip(*readings, strict=True))
    alone, both = (_divided(times, tokens, dp=dp, chunk=chunk) for times in every)
    return both, alone


def _divided(times: Mapping[int, float], tokens: int, *, dp: int, chunk: int | None) -> Prompts:
    """Returns the times of prompts that `dp` groups of GPUs read, each group a prompt and a chunk.

    The times are of prompts that are divided among the groups; `delay` makes up for the whole
    prompt that one group reads.

    times: seconds of one group by number of tokens. tokens: mean of a prompt.
    """
    shared = {n if n == 1 else n * dp: seconds for n, seconds in times.items()}
    divided = Prompts(shared, None if chunk is None else chunk * dp)
    return replace(divided, delay=max(times[tokens] - float(divided.apart(tokens)), 0.0))


def _cache_tokens(priced: Sequence[Cost], needed: str) -> float | None:
    """Returns how many cached tokens fit into GPU memory next to the weights; None: not known.

    needed: field of `Load` with the GB of weights and caches.
    """
    first, last = priced[0].setting.load, priced[-1].setting.load
    if first is None or last is None or first is last or first.memory_gb is None:
        return None
    least, most = getattr(first, needed) or 0.0, getattr(last, needed) or 0.0
    of_one = (most - least) / (priced[-1].setting.batch - priced[0].setting.batch)
    free = first.memory_gb - (least - priced[0].setting.batch * of_one)
    return float(max(0.0, free / of_one * first.context))


def _measured(cost: Cost) -> set[int]:
    """Returns each γ above 0 whose speed-up was measured at the cost's load, and is possible."""
    if cost.posterior is None or cost.point is None:
        return set()
    return set(cost.posterior.measured(cost.point)) - cost.posterior.left_out(cost.point)
