"""The replicas among which `specplan size` chooses: drafts, formats, GPUs and their sharing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.traffic.demand import Demand
from simulator.traffic.fleet import Replica

if TYPE_CHECKING:
    from engines.kind import Drafted
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.roofline.shapes import ModelShape
    from simulator.cost.roofline.sharing import Conditions


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


def replicas_of(
    target_config: Path, drafts: Sequence[SizedDraft], demand: Demand, given: Mapping[str, Any]
) -> tuple[list[Replica], dict[str, Drafted], list[str]]:
    """Returns every replica that fits, the drafts by name, and why others are left out.

    given: the options of `specplan.size`, by name.
    """
    from engines.kind import Drafted, engine_kinds
    from estimator.costs.replicas import Serving, deployed_replica
    from estimator.model_shapes.drafts import read_pair
    from estimator.model_shapes.head_kind import prior_of
    from simulator.cost.roofline.deployment import Deployment
    from simulator.cost.roofline.hardware import find_hardware
    from specplan.api.deployed import Deployed
    from specplan.api.deployment import with_weights

    engine = given["engine"]
    wall = None if engine is None else engine_kinds()[engine].wall
    serving = Serving(
        engine, given["slots"], given["chunk_tokens"] or None, given["max_gamma"], wall
    )
    prices = {find_hardware(name).name: price for name, price in given["prices"].items()}
    replicas, drafted, notes = [], {}, []
    machines = [find_hardware(name.strip()) for name in given["gpus"]]
    for gpu in machines:
        if prices and gpu.name not in prices:
            raise ValueError(f"prices must have one for {gpu.name}, got {', '.join(prices)}")
    ways = [
        (draft, dtype, gpu) for draft in drafts for dtype in given["dtypes"] for gpu in machines
    ]
    for draft, dtype, gpu in ways:
        activations = given["activations"] or with_weights(Deployed(dtype=dtype), gpu)
        target, shape = read_pair(
            target_config, Path(draft.config), dtype=dtype, activations=activations
        )
        drafted[draft.title] = Drafted(draft.title, shape.kind)
        acceptance = draft.acceptance.of_kind(prior_of(shape.kind))
        acceptance = acceptance.at_context(round(demand.context))
        for gpus in given["gpus_per_replica"]:
            for conditions in _sharing(gpus, target, given):
                try:
                    replica = deployed_replica(
                        Deployment(target, shape, gpu, conditions),
                        acceptance,
                        demand,
                        serving,
                        dtype=dtype,
                        draft=draft.title,
                        price=prices.get(gpu.name),
                    )
                except ValueError as error:
                    notes.append(f"{gpus} × {gpu.name}{conditions.parallel} is left out: {error}.")
                else:
                    replicas.append(replica)
    if not replicas and not notes:
        raise ValueError("`dp` and `ep` must divide `gpus_per_replica`, got none that does")
    return replicas, drafted, notes


def _sharing(gpus: int, target: ModelShape, given: Mapping[str, Any]) -> Iterator[Conditions]:
    """Yields the ways in which the GPUs of a replica share the models."""
    from simulator.cost.roofline.sharing import Conditions

    mixture = bool(target.only("experts")) and gpus > 1
    groups, parts = given["dp"], given["ep"]
    for dp in groups or ((1, gpus) if mixture else (1,)):
        # By default, groups exchange whole experts, and a single group divides each of them.
        for ep in parts or ((gpus if mixture and dp > 1 else 1),):
            if gpus % dp == 0 and gpus % ep == 0:
                yield Conditions(tp=gpus // dp, dp=dp, ep=ep)
