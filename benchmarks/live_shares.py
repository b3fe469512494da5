"""Shares of requests within targets at two live replicas, as measured and as predicted."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from traffic_client import Answer
from traffic_prices import Pricing, priced, steps_of

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, LatencyTargets, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.limit import in_turn
from simulator.traffic.server import Server
from simulator.traffic.steady import steady

REPLICAS, SLOTS, PROMPT, OUTPUT = 2, 8, 64, 48
SHARES, SEEDS = (0.5, 0.8, 0.95), 10
# Requests whose steps are drawn; seconds of a prompt of no length.
DRAWN, TINY = 4000, 1e-5
DEMAND = in_turn(Demand(PROMPT, OUTPUT), REPLICAS)


@dataclass(frozen=True)
class Row:
    """One rate and its targets; shares are of the requests within both targets.

    targets_ms: most milliseconds to the first token, and between tokens.
    rate: requests per second of both replicas. error: the measured share's standard error.
    of_arrivals: share in simulations of the arrivals that the replicas got, and its standard
      deviation between simulations, which draw other accepted tokens.
    step_ms: milliseconds of a step of 1, …, 8 sequences.
    """

    rate: float
    targets_ms: tuple[float, float]
    requests: int
    measured: float
    error: float
    of_arrivals: float
    of_arrivals_error: float
    simulated: float
    closed_form: float
    step_ms: list[float]
    measured_ms: tuple[float, float]
    simulated_ms: tuple[float, float]


def server_of(pricing: Pricing, gamma: int, rate: float) -> Server:
    """Returns the server with the measured times; prompts are priced at the batch of this rate."""
    prices = priced(pricing, gamma)
    first = steady(prices.server(SLOTS, DEMAND, 1), DEMAND, gamma, rate / REPLICAS)
    batch = float(first.batch[0]) if np.isfinite(first.batch[0]) else SLOTS
    server = prices.server(SLOTS, DEMAND, batch)
    # A prompt by itself takes longer than it adds to a step, since its request and its first token
    # are sent; they are when steps are shared, too.
    sending, *others = server.prompts.seconds.values()
    lengths = list(server.prompts.seconds)
    reading = {lengths[0]: TINY} | {
        n: seconds - sending for n, seconds in zip(lengths[1:], others, strict=True)
    }
    server = replace(server, prompts=replace(server.prompts, seconds=reading, delay=sending))
    if gamma == 0:
        return server
    alpha, spread = acceptance_of(pricing, gamma, prices.length)
    return replace(server, blocks=Blocks.of(Iid(alpha), gamma, spread=spread))


def acceptance_of(pricing: Pricing, gamma: int, length: float) -> tuple[float, float]:
    """Returns α, and its standard deviation between requests.

    The numbers of steps of requests vary by chance as they would with one α, and by the requests'
    own. length: mean tokens of a step.
    """
    alpha = float(alpha_from_block_efficiency(length, gamma))
    whole = [answer for answer in pricing.answers if len(answer.tokens) == OUTPUT]
    counted = np.array([len(steps_of(answer)) - 1 for answer in whole])
    generator = np.random.default_rng(0)
    accepted = (generator.random((DRAWN, OUTPUT, gamma)) < alpha).cumprod(axis=-1).sum(axis=-1)
    drawn = 1 + ((1 + accepted).cumsum(axis=1) < OUTPUT - 1).sum(axis=1)

    def variance(steps: NDArray[np.int64]) -> float:
        lengths = np.clip((OUTPUT - 1) / steps, 1.0, gamma + 1.0)
        return float(np.var(alpha_from_block_efficiency(lengths, gamma)))

    spread = sqrt(max(variance(counted) - variance(drawn), 0.0))
    return alpha, min(spread, 0.9 * sqrt(alpha * (1 - alpha)))


def targets_of(runs: list[SimulationResult], share: float) -> LatencyTargets:
    """Returns targets that a share of the requests keep, each of both as often as the other."""
    firsts, tokens = (
        np.concatenate([getattr(run, name) for run in runs])
        for name in ("first_seconds", "token_seconds")
    )

    def targets(part: float) -> LatencyTargets:
        return LatencyTargets(float(np.quantile(firsts, part)), float(np.quantile(tokens, part)))

    parts = np.linspace(share, 1, 400)
    shares = [float(targets(part).met(firsts, tokens).mean()) for part in parts.tolist()]
    return targets(float(parts[int(np.argmin(np.abs(np.array(shares) - share)))]))


def arrived(answers: list[list[Answer]]) -> list[Requests]:
    """Returns the requests that each replica got, when they were sent."""
    sent = [np.sort([answer.sent for answer in replica]) for replica in answers]
    return [
        Requests(times - times[0], *(np.full(len(times), tokens) for tokens in (PROMPT, OUTPUT)))
        for times in sent
    ]


def rows_of(answers: list[list[Answer]], rate: float, gamma: int, pricing: Pricing) -> list[Row]:
    """Returns the measured and the predicted shares at one rate, for each of the targets."""
    server = server_of(pricing, gamma, rate)
    # As in simulations, the first tenth finds an emptier server.
    counted = [one for of_one in answers for one in of_one[len(of_one) // 10 :]]
    firsts = np.array([one.first for one in counted])
    tokens = np.array([one.token for one in counted])
    runs = [
        serve(server, DEMAND.arrivals(rate / REPLICAS, 5000, seed=seed), gamma, seed=seed)
        for seed in range(SEEDS)
    ]
    same = [
        [serve(server, requests, gamma, seed=seed) for requests in arrived(answers)]
        for seed in range(SEEDS)
    ]
    state = steady(server, DEMAND, gamma, rate / REPLICAS)
    means = [
        (1e3 * float(firsts.mean()), 1e3 * float(tokens.mean())),
        (
            1e3 * float(np.mean([run.first_seconds.mean() for run in runs])),
            1e3 * float(np.mean([run.token_seconds.mean() for run in runs])),
        ),
    ]
    rows = []
    for part in SHARES:
        targets = targets_of(runs, part)
        share = float(targets.met(firsts, tokens).mean())
        of_each = [_within(replicas, targets) for replicas in same]
        rows.append(
            Row(
                rate,
                (1e3 * (targets.first_seconds or 0), 1e3 * (targets.token_seconds or 0)),
                len(counted),
                share,
                sqrt(max(share * (1 - share), 1 / len(counted)) / len(counted)),
                float(np.mean(of_each)),
                float(np.std(of_each, ddof=1)),
                float(np.mean([run.within(targets) for run in runs])),
                float(state.share(targets)[0]),
                [1e3 * float(seconds) for seconds in server.seconds[:, gamma]],
                means[0],
                means[1],
            )
        )
    return rows


def _within(replicas: list[SimulationResult], targets: LatencyTargets) -> float:
    """Returns the share within targets of the requests at all replicas."""
    met = [targets.met(one.first_seconds, one.token_seconds) for one in replicas]
    return float(np.concatenate(met).mean())
