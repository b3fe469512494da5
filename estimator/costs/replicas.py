"""Replicas of a server on GPUs, priced at each batch size by public measurements of servers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.costs.deployed_cost import deployed_cost
from simulator.cost.fitted.fit import ParametricCost
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.cost import RooflineCost
from simulator.cost.roofline.deployment import needed_bytes
from simulator.cost.setting import CostSetting, Wall
from simulator.traffic.blocks import Blocks
from simulator.traffic.fleet import Replica
from simulator.traffic.pair import Pair
from simulator.traffic.server import Prompts, Server, by_batch, doubt_of

if TYPE_CHECKING:
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.roofline.deployment import Deployment
    from simulator.traffic.demand import Demand

# Batch sizes with a price; between them times are linear.
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Serving:
    """How each replica serves.

    engine: name of the server; None: unknown.
    slots: most sequences that are decoded together.
    chunk: most prompt tokens that one decoding step also reads; None: decoding stops for prompts.
    max_gamma: the longest draft that is considered.
    wall: limit of the server's captured graphs; None: no limit is known.
    """

    engine: str | None = None
    slots: int = 256
    chunk: int | None = 2048
    max_gamma: int = 8
    wall: Wall | None = None


def deployed_replica(
    deployment: Deployment,
    acceptance: Acceptance,
    demand: Demand,
    serving: Serving,
    *,
    dtype: str | None = None,
    draft: str | None = None,
    price: float | None = None,
) -> Replica:
    """Returns a replica with its times, its cache, and its doubt.

    Raises ValueError if the GPUs do not hold both models and the cache of one request.

    dtype: number format of the weights as stated by the user; None: not stated.
    draft: the draft's name; price: money for a GPU and an hour.
    """
    context = round(demand.context)
    batches = (*(batch for batch in _BATCHES if batch < serving.slots), serving.slots)
    points = [LoadPoint(context, batch) for batch in batches]
    posterior = deployed_cost(deployment, points, engine=serving.engine, dtype=dtype).posterior
    costs = [
        RooflineCost(
            ParametricCost(posterior, point),
            setting=CostSetting(
                batch=point.batch,
                longest=deployment.draft.longest,
                multiple=deployment.draft.multiple,
                wall=serving.wall,
            ),
            deployment=deployment,
            point=point,
        )
        for point in points
    ]
    longest = serving.max_gamma
    if acceptance.most_gamma is not None:
        longest = min(longest, acceptance.most_gamma)
    gammas = np.arange(1, costs[0].setting.up_to(longest) + 1)
    times = [[cost.baseline_seconds, *cost.block_seconds(gammas)] for cost in costs]
    dp = deployment.conditions.dp
    alone, both = _prompts(costs[0], demand, serving.chunk, dp)
    blocks = Blocks.of(acceptance, len(gammas))
    cache = _cache_tokens(deployment, context)
    server = Server(by_batch(batches, times, serving.slots), blocks, both, cache)
    server.max_batch(demand)  # refuses a cache that holds no request
    captured = [
        gamma
        for gamma in gammas[costs[0].setting.allows(gammas)].tolist()
        if serving.wall is None or serving.wall.most_batch(gamma) > 0
    ]
    conditions = deployment.conditions
    pair = Pair(server, server.without(alone), demand, tuple(captured), wall=serving.wall)
    return Replica(
        deployment.hardware.name,
        conditions.gpus,
        pair,
        tp=conditions.tp,
        ep=conditions.ep,
        dp=conditions.dp,
        dtype=dtype,
        draft=draft,
        price=price,
        doubt=lambda: doubt_of(costs, acceptance, server),
    )


def _cache_tokens(deployment: Deployment, context: int) -> float:
    """Returns how many tokens fit into the memory of each GPU next to the weights."""
    dp = deployment.conditions.dp
    one, two = (needed_bytes(deployment, context=context, batch=n * dp) for n in (1, 2))
    free = deployment.hardware.memory_bytes - (2 * one - two)
    if free < two - one:
        gpu, gpus = deployment.hardware.name, deployment.conditions.gpus
        raise ValueError(
            f"both models and a request need {one / 1e9:.0f} GB on each of {gpus} {gpu}, which "
            f"have {deployment.hardware.memory_bytes / 1e9:.0f} GB"
        )
    return dp * free / (two - one) * context


def _prompts(
    cost: RooflineCost, demand: Demand, chunk: int | None, dp: int
) -> tuple[Prompts, Prompts]:
    """Returns the times of reading prompts without a draft and with it.

    `dp` groups of GPUs read as many prompts at once, each with its own chunk. The times are of
    prompts that are divided among them; `delay` makes up for the whole prompt in one group.
    """
    tokens = max(round(demand.prompt_tokens), 1)
    places = sorted({1, *(max(1, tokens * part // 4) for part in (1, 2, 4, 8, 16))})
    read = []
    for seconds in zip(*(cost.prompt_seconds(n) for n in places), strict=True):
        times = {n if n == 1 else n * dp: t for n, t in zip(places, seconds, strict=True)}
        divided = Prompts(times, None if chunk is None else chunk * dp)
        late = seconds[places.index(tokens)] - float(divided.apart(tokens))
        read.append(replace(divided, delay=max(late, 0.0)))
    return read[0], read[1]
