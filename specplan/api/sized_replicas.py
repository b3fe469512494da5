"""The replicas among which `specplan size` chooses: drafts, formats, GPUs and their sharing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.traffic.demand import Demand
from simulator.traffic.fleet import Replica
from simulator.traffic.server import doubt_of
from specplan.api.completed_costs import draft_class_of, walled
from specplan.api.request import NO_LIMITS
from specplan.api.roofline import Roofline
from specplan.api.settings import Batching
from specplan.api.traffic_pair import costs_under_load, pair_of

if TYPE_CHECKING:
    from engines.kind import Drafted
    from simulator.acceptance.acceptance import Acceptance
    from simulator.traffic.fleet import Fleet
    from simulator.traffic.pair import Pair
    from simulator.traffic.server import Doubt
    from specplan.api.drafts import SizedDraft
    from specplan.api.size_settings import SizeSettings


def replicas_of(
    target_config: Path, drafts: Sequence[SizedDraft], demand: Demand, given: SizeSettings
) -> tuple[list[Replica], dict[str, Drafted], list[str]]:
    """Returns every replica that fits, the drafts by name, and why others are left out.

    given: the settings of `specplan.size`.
    """
    from engines.kind import Drafted
    from estimator.model_shapes.drafts import read_pair
    from simulator.cost.roofline.hardware import find_hardware

    prices = {find_hardware(name).name: price for name, price in (given.prices or {}).items()}
    replicas, drafted, notes = [], {}, []
    machines = [find_hardware(name.strip()).name for name in listed(given.gpus)]
    for gpu in machines:
        if prices and gpu not in prices:
            raise ValueError(f"`prices` must have one for {gpu}, got {', '.join(prices)}")
    ways = list(product(drafts, listed(given.dtypes or (None,)), machines, given.gpus_per_replica))
    for draft, dtype, gpu, gpus in ways:
        target, shape = read_pair(target_config, Path(draft.config))
        drafted[draft.title] = Drafted(draft.title, shape.kind)
        mixture = bool(target.only("experts"))
        for tp, dp, ep in _sharing(gpus, mixture=mixture, given=given):
            costs = Roofline(
                target_config,
                Path(draft.config),
                gpu=gpu,
                tp=tp,
                dp=dp,
                ep=ep,
                dtype=dtype,
                activations=given.activations,
                engine=given.engine,
            )
            where = f"{gpus} × {gpu} (tp {tp}, dp {dp}, ep {ep})"
            try:
                pair, doubt, basis = _servers(costs, draft.acceptance, demand, given)
            except ValueError as error:
                notes.append(f"{where} is left out: {error}.")
                continue
            if not pair.gammas:
                notes.append(f"{draft.title} does not fit on {where} with a request.")
            replica = Replica(gpu, gpus, pair, tp, ep, dp, dtype, draft.title, prices.get(gpu))
            replicas.append(replace(replica, doubt=doubt, basis=basis))
    if not replicas and not notes:
        raise ValueError("`dp` and `ep` must divide `gpus_per_replica`, got none that does")
    return replicas, drafted, notes


def listed(names: Sequence[Any]) -> Sequence[Any]:
    """Returns names; a single text is a list with commas."""
    return names.split(",") if isinstance(names, str) else names


def replica_at(
    target_config: Path,
    drafts: Sequence[SizedDraft],
    demand: Demand,
    given: SizeSettings,
    fleet: Fleet,
) -> Replica:
    """Returns the replica of a fleet under another demand; other arguments: see `replicas_of`."""
    known = fleet.replica
    draft = next(draft for draft in drafts if draft.title == known.draft)
    only = replace(
        given,
        gpus=[known.gpu],
        gpus_per_replica=[known.gpus],
        dp=[known.dp],
        ep=[known.ep],
        dtypes=[known.dtype],
        gamma=fleet.gamma or None,
    )
    replicas, _, notes = replicas_of(target_config, [draft], demand, only)
    if not replicas:
        raise ValueError(notes[0])
    return replicas[0].limited(known.batch_limit)


def _servers(
    costs: Roofline, acceptance: Acceptance, demand: Demand, given: SizeSettings
) -> tuple[Pair, Callable[[], Doubt | None], tuple[str, ...]]:
    """Returns a replica's servers, what draws their uncertain values, and `Replica.basis`."""
    from specplan.reports.basis import basis_text

    shared = ("slots", "chunk_tokens", "cached_share", "gamma", "max_gamma")
    batching = Batching(**{name: getattr(given, name) for name in shared})
    known, wall = walled(costs, NO_LIMITS)
    priced = costs_under_load(known, demand, batching)
    accepting = acceptance.for_draft(draft_class_of(None, priced)).at_context(round(demand.context))
    pair = pair_of(priced, accepting, demand, batching, wall)
    pair.baseline.max_batch(demand)  # refuses a cache that holds no request
    try:
        pair.drafting.max_batch(demand)
    except ValueError:
        pair = replace(pair, gammas=())
    load = priced[0].setting.load
    basis = (basis_text(accepting, priced), *(() if load is None else load.notes))
    return pair, partial(doubt_of, priced, accepting, pair.drafting), basis


def _sharing(gpus: int, *, mixture: bool, given: SizeSettings) -> Iterator[tuple[int, int, int]]:
    """Yields the ways in which the GPUs of a replica share the models: TP, DP, EP."""
    groups, parts = given.dp, given.ep
    mixture = mixture and gpus > 1
    for dp in groups or ((1, gpus) if mixture else (1,)):
        # By default, groups exchange whole experts, and a single group divides each of them.
        for ep in parts or ((gpus if mixture and dp > 1 else 1),):
            if gpus % dp == 0 and gpus % ep == 0:
                yield gpus // dp, dp, ep
