"""Costs on a GPU from two models' configurations, for each batch size and context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from engines.kind import names_of
from simulator.cost.cost import Cost
from simulator.cost.costs import Costs
from simulator.cost.fitted.fit import ParametricCost
from simulator.cost.fitted.machine import seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.runs import LoadPoint, Run, measured_zero, require_consistent
from simulator.cost.roofline.cost import RooflineCost
from simulator.cost.roofline.deployment import (
    Deployment,
    draft_overhead_share,
    most_batch,
    needed_bytes,
    operations_ratio,
    roofline_cost,
    target_bytes,
)
from simulator.cost.roofline.forward import MEASURED_HIGH, MEASURED_LOW
from simulator.cost.setting import DEFAULT_CONTEXT, CostSetting, Load
from specplan.api.deployed import DATA_SHEET, Deployed, Loads
from specplan.api.deployment import best_cost, deployment_of, with_weights

# Batch sizes of a server under load unless they are stated; between them times are linear.
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_CELLS = 10_000
# A fitted time further than this from a run's, in logarithms, is shown.
_MISFIT = 0.05
_BOTH = (
    "--dtype {} means weights and activations, as servers compute on this GPU (--activations "
    "bfloat16: weights only)."
)
NAME_THE_ENGINE = (
    "No server is named: the numbers cover several servers together. --engine (vllm, "
    "sglang, ...) takes your server's; its interval may be narrower or wider."
)

_KERNELS = (
    "Kernel times are of vLLM. --engine takes your server's, or the roofline if none were measured "
    "of it."
)


@dataclass(frozen=True)
class Roofline(Deployed, Loads, Costs):
    """The cost of blocks on a GPU, from its roofline and public measurements of servers.

    target_config, draft_config: config.json of both models, or their folders.
    gpu: h100, b200, l4, ...; an unknown name lists them all.
    engine: vllm, sglang, llama.cpp, ...; None: any, with wider intervals.
    batch: sequences decoded together, or a list; None: 1, or under load all that a server has.
    context: tokens in each sequence's cache, or a list; None: 1024, or what requests have.
    runs: measurements of this server, which correct the costs.
    For the other settings see `Deployed`.
    """

    runs: tuple[Run, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("target_config", "draft_config"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else Path(path))
        if self.engine is not None and self.engine not in (names := names_of(bool)):
            raise ValueError(f"engine must be one of {', '.join(names)}, got {self.engine!r}")

    @property
    def fitted(self) -> bool:
        return True

    @property
    def modelled(self) -> bool:
        return True

    @property
    def server(self) -> str | None:
        return self.engine

    def planned(self, max_gamma: int) -> tuple[Cost, ...]:
        require_consistent(self.runs)
        contexts, batches = self.contexts or (DEFAULT_CONTEXT,), self.batches or (1,)
        loads = [LoadPoint(*load) for load in product(contexts, batches)]
        each_machine = self.each_machine()
        if len(each_machine) > 1 and (len(loads) > 1 or self.runs):
            stated = ", ".join(f"{gpu} × {tp}" for gpu, tp in self.machines)
            raise ValueError(
                "several `gpu` or `tp` need one `batch` and one `context`, and no `runs`, got "
                f"{stated}"
            )
        if len(loads) > MOST_CELLS:
            raise ValueError(f"a grid must have at most {MOST_CELLS} cells, got {len(loads)}")
        return tuple(cost for machine in each_machine for cost in machine._on_one(loads, max_gamma))

    def each_machine(self) -> tuple[Roofline, ...]:
        """Returns the costs of each GPU and each `tp`, in order."""
        return tuple(replace(self, gpu=gpu, tp=tp) for gpu, tp in self.machines)

    def at(self, batch: int, context: int | None = None, *, max_gamma: int = 32) -> Cost:
        at = (self.contexts or (DEFAULT_CONTEXT,))[0] if context is None else context
        return self._on_one([LoadPoint(at, batch)], max_gamma)[0]

    def under_load(self, slots: int, context: int, *, max_gamma: int) -> tuple[Cost, ...]:
        if len(self.machines) > 1:
            raise ValueError("a server under load has one `gpu` and one `tp`, got several")
        within = tuple(batch for batch in _BATCHES if batch < slots)
        loaded = replace(
            self,
            batch=(*within, slots) if self.batch is None else self.batch,
            context=context if self.context is None else self.context,
        )
        return loaded.planned(max_gamma)

    def with_runs(self, runs: Sequence[Run]) -> Roofline:
        return replace(self, runs=tuple(runs))

    def with_batches(self, batches: Sequence[int]) -> Roofline:
        return replace(self, batch=tuple(batches))

    def _on_one(self, loads: Sequence[LoadPoint], max_gamma: int) -> tuple[Cost, ...]:
        """Returns the costs on one kind of GPU, one for each load.

        Measurements of kernels and servers, and the user's runs, correct the roofline, unless
        `cost_model` is the data sheet's roofline.
        """
        deployment = deployment_of(self)
        most = cache(lambda context: most_batch(deployment, context=context))
        if self.cost_model == DATA_SHEET:
            if self.runs:
                raise ValueError("`runs` cannot be combined with `cost_model` roofline")
            return tuple(
                _placed(
                    deployment,
                    load,
                    roofline_cost(
                        deployment, context=load.context, batch=load.batch, max_gamma=max_gamma
                    ),
                    self._load(deployment, load, most(load.context)),
                )
                for load in loads
            )
        used = [run for run in self.runs if not run.speculating]
        cost = best_cost(self, deployment, loads, used)
        runs = len(used)
        known = "public measurements" + (f" and {runs} run{'s' * (runs > 1)}" if runs else "")
        unnamed = (NAME_THE_ENGINE,) * (self.engine is None and not runs)
        unnamed += (_KERNELS,) * (self.engine is None and cost.model == "kernels")
        both = self.activations is None and with_weights(self, deployment.hardware)
        formats = (_BOTH.format(both),) if both else ()
        changed: dict[str, Any] = {
            "origin": f"by {cost.source}, {known}",
            "speeds": None,
            "cost_model": cost.model,
            "notes": (*unnamed, *formats, *cost.notes, *_misfits(cost.posterior)),
        }
        if cost.model == "kernels":  # which assume no time per layer
            changed["draft_overhead"] = None
        return tuple(
            _placed(
                deployment,
                load,
                ParametricCost(cost.posterior, load),
                replace(self._load(deployment, load, most(load.context)), **changed),
            ).with_setting(zero=measured_zero(self.runs, load.batch))
            for load in loads
        )

    def _load(self, deployment: Deployment, point: LoadPoint, most: int) -> Load:
        """Returns the load on one GPU, with costs by the data sheet's roofline.

        most: largest batch that fits into memory.
        """
        hardware, gpus = deployment.hardware, deployment.conditions.gpus
        at = {"context": point.context, "batch": point.batch}
        return Load(
            origin=f"by the roofline of {f'{gpus} × ' * (gpus > 1)}{hardware.name}"
            f"{deployment.conditions.parallel}",
            gpu=hardware.name,
            dtype=self.dtype,
            tp=deployment.conditions.tp,
            activations=deployment.target.activations,
            dp=deployment.conditions.dp,
            ep=deployment.conditions.ep,
            draft_kind=deployment.draft.kind,
            context=point.context,
            needed_gb=needed_bytes(deployment, **at) / 1e9,
            target_gb=target_bytes(deployment, **at) / 1e9,
            draft_overhead=draft_overhead_share(deployment, **at),
            speeds=(MEASURED_LOW, MEASURED_HIGH),
            memory_gb=hardware.memory_bytes / 1e9,
            most_batch=most,
            cost_model=DATA_SHEET,
        )


def _placed(deployment: Deployment, point: LoadPoint, times: Cost, load: Load) -> RooflineCost:
    """Returns the cost at one load, with the draft's limits; times: of its blocks."""
    draft = deployment.draft
    setting = CostSetting(
        batch=point.batch,
        load=load,
        c_hat=operations_ratio(deployment, context=point.context, batch=point.batch),
        longest=draft.longest,
        multiple=draft.multiple,
        usual_gamma=draft.stated_gamma,
        draft_share=draft.step.active_parameters / deployment.target.active_parameters,
    )
    return RooflineCost(times, setting=setting, deployment=deployment, point=point)


def _misfits(posterior: Posterior) -> list[str]:
    """Returns warnings about runs that differ from the fit."""
    notes = []
    for run in posterior.runs:
        work = posterior.machine.token_work(run.load, run.gamma, run.length)
        measured, fitted = run.seconds_per_token, float(seconds_of(work, posterior.logs))
        if abs(math.log(fitted / measured)) > max(_MISFIT, 2 * run.error):
            notes.append(
                f"The fit does not believe the run of gamma {run.gamma}, batch {run.load.batch}: "
                f"{1e3 * measured:.3g} ms a token were measured, {1e3 * fitted:.3g} ms fitted "
                f"({100 * (fitted / measured - 1):+.0f} %). Was it of these models, and of one "
                "load?"
            )
    return notes
