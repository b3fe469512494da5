"""How many GPUs: the request of `specplan size`, and `specplan.size` from Python."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from simulator.numerics.arguments import integer
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.fleet import Goal, Replica
from simulator.traffic.pareto import Point, pareto_front
from simulator.traffic.sizing import Sizing
from simulator.traffic.sizing import size as sized

if TYPE_CHECKING:
    from engines.kind import Drafted
    from simulator.acceptance.acceptance import Acceptance

__all__ = ["SizeResult", "SizedDraft", "size"]


@dataclass(frozen=True)
class SizedDraft:
    """A draft to consider.

    config: the config.json of a model or a head; for multi-token prediction, the target's.
    acceptance: how often its tokens are accepted: Iid, ByPosition, ...
    name: its name in the answer and in flags; None: the name of the file or folder.
    """

    config: Path | str
    acceptance: Acceptance
    name: str | None = None

    @property
    def title(self) -> str:
        path = Path(self.config)
        return self.name or (path.parent.name if path.stem == "config" else path.stem)


class SizeOptions(TypedDict, total=False):
    """The load, the machines to choose from, and how each replica serves.

    rate: requests per second of all replicas.
    prompt_tokens, output_tokens: mean lengths; length_spread: their standard deviation / mean.
    targets: latency targets in milliseconds, by name: ttft, tpot.
    share: share of requests that must meet the targets.
    gpus: names of GPUs. gpus_per_replica: numbers of GPUs that share each layer.
    dtypes: number formats of the weights; None: each configuration's own.
    activations: format of activations; None: 16 bits, or the configuration's.
    prices: money for a GPU and an hour, by name of the GPU; then the least money is searched.
    max_gpus: most GPUs of all replicas.
    engine: name of the server.
    slots, chunk_tokens, max_gamma: as in `specplan traffic`.
    check: whether the answer is simulated with all replicas.
    """

    rate: float
    prompt_tokens: float
    output_tokens: float
    length_spread: float
    targets: Mapping[str, float]
    share: float
    gpus: Sequence[str]
    gpus_per_replica: Sequence[int]
    dtypes: Sequence[str | None]
    activations: str | None
    prices: Mapping[str, float]
    max_gpus: int
    engine: str | None
    slots: int
    chunk_tokens: int
    max_gamma: int
    check: bool


# Settings that need not be given; None marks those that must be.
DEFAULTS: Mapping[str, Any] = {
    "rate": None, "prompt_tokens": None, "output_tokens": None, "length_spread": 0.0,
    "targets": None, "share": 0.95, "gpus": None, "gpus_per_replica": (1, 2, 4, 8),
    "dtypes": (None,), "activations": None, "prices": {}, "max_gpus": 64, "engine": None,
    "slots": 256, "chunk_tokens": 2048, "max_gamma": 8, "check": True,
}  # fmt: skip
_TARGETS = frozenset({"ttft", "tpot"})
_OPTIONAL = ("activations", "engine")


@dataclass(frozen=True)
class SizeResult(Sizing):
    """The fewest GPUs, or the least money, that keep the targets.

    fronts: tokens/s of a GPU against tokens/s of a user, with and without speculation.
    drafted: drafts by name, as servers load them.
    notes: deployments that were left out, and why.
    """

    fronts: tuple[tuple[Point, ...], tuple[Point, ...]] = ((), ())
    drafted: Mapping[str, Drafted] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Returns the JSON object of `specplan size`."""
        from specplan.reports.sizing_json import sizing_json

        return sizing_json(self, self.fronts)

    def frame(self) -> Any:
        """Returns the candidates as a pandas DataFrame, the best first (needs pandas)."""
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame(self.json()["candidates"])

    def flags(self, server: str) -> str:
        """Returns the flags of each replica; server: vllm or sglang."""
        from engines.kind import Drafted
        from specplan.reports.replica_flags import replica_flags

        if self.best is None:
            raise ValueError("flags need a deployment that keeps the targets, got none")
        draft = self.drafted.get(self.best.replica.draft or "", Drafted("DRAFT"))
        return replica_flags(server, self.best, draft)

    def __str__(self) -> str:
        from specplan.reports.sizing import sizing_text

        return sizing_text(self, self.json(), self.fronts, self.notes)


def size(
    target_config: Path | str,
    drafts: SizedDraft | Sequence[SizedDraft],
    **options: Unpack[SizeOptions],
) -> SizeResult:
    """Returns the cheapest deployment that keeps latency targets: what `specplan size` computes.

    target_config: the target's config.json. drafts: one or several drafts.
    options: see `SizeOptions`; rate, prompt_tokens, output_tokens, targets and gpus are needed.

    Raises OSError, ValueError if a file or a number cannot be used, or no GPU holds the models.
    """
    given = _settings(options)
    spread = given["length_spread"]
    demand = Demand(given["prompt_tokens"], given["output_tokens"], spread, spread)
    goal = Goal(given["rate"], _targets(given["targets"]), given["share"], given["max_gpus"])
    every = (drafts,) if isinstance(drafts, SizedDraft) else tuple(drafts)
    if not every:
        raise ValueError("drafts must have at least one draft, got none")
    replicas, drafted, notes = _replicas(Path(target_config), every, demand, given)
    if not replicas:
        raise ValueError(notes[0])
    found = sized(replicas, goal, check=given["check"])
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    with_drafts, without = (pareto_front(replicas, speculating=way) for way in (True, False))
    return SizeResult(**values, fronts=(with_drafts, without), drafted=drafted, notes=tuple(notes))


def _settings(options: SizeOptions) -> dict[str, Any]:
    unknown = [name for name in options if name not in DEFAULTS]
    if unknown:
        raise TypeError(f"unexpected keyword {unknown[0]!r}: must be one of {', '.join(DEFAULTS)}")
    given = {**DEFAULTS, **options}
    for name, value in given.items():
        if value is None and name not in _OPTIONAL:
            raise ValueError(f"{name} must be given")
    for setting in ("slots", "max_gamma"):
        integer(setting, given[setting], at_least=1)
    integer("chunk_tokens", given["chunk_tokens"], at_least=0)
    return given


def _targets(milliseconds: Mapping[str, float]) -> LatencyTargets:
    for name, limit in milliseconds.items():
        if name not in _TARGETS or not 0 < limit < float("inf"):
            raise ValueError(
                f"targets must be ttft=MS, tpot=MS or both, above 0, got {name}={limit}"
            )
    first, token = (milliseconds.get(target) for target in ("ttft", "tpot"))
    return LatencyTargets(first and first / 1e3, token and token / 1e3)


def _replicas(
    target_config: Path, drafts: Sequence[SizedDraft], demand: Demand, given: Mapping[str, Any]
) -> tuple[list[Replica], dict[str, Drafted], list[str]]:
    """Returns every replica that fits, the drafts by name, and why others are left out."""
    from engines.kind import Drafted, engine_kinds
    from estimator.costs.replicas import Serving, deployed_replica
    from estimator.model_shapes.drafts import read_pair
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.hardware import find_hardware
    from simulator.cost.roofline.sharing import Conditions

    engine = given["engine"]
    wall = None if engine is None else engine_kinds()[engine].wall
    chunk = given["chunk_tokens"] or None
    serving = Serving(engine, given["slots"], chunk, given["max_gamma"], wall)
    prices = {find_hardware(name).name: price for name, price in given["prices"].items()}
    replicas, drafted, notes = [], {}, []
    machines = [find_hardware(name.strip()) for name in given["gpus"]]
    for gpu in machines:
        if prices and gpu.name not in prices:
            raise ValueError(f"prices must have one for {gpu.name}, got {', '.join(prices)}")
    for draft in drafts:
        for dtype in given["dtypes"]:
            target, shape = read_pair(
                target_config, Path(draft.config), dtype=dtype, activations=given["activations"]
            )
            drafted[draft.title] = Drafted(draft.title, shape.kind)
            for gpu in machines:
                for tp in given["gpus_per_replica"]:
                    try:
                        deployment = Deployment(target, shape, gpu, Conditions(tp=tp))
                        replica = deployed_replica(
                            deployment,
                            draft.acceptance.at_context(round(demand.context)),
                            demand,
                            serving,
                            dtype=dtype,
                            draft=draft.title,
                            price=prices.get(gpu.name),
                        )
                    except ValueError as error:
                        notes.append(f"{tp} × {gpu.name} is left out: {error}.")
                    else:
                        replicas.append(replica)
    return replicas, drafted, notes
