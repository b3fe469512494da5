"""Chooses a model of a deployment's passes, and infers its cost from the prior and the runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from estimator.kernel_tables import MeasuredKernels, missing
from estimator.model_shapes.head_kind import prior_of
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.machine import (
    CachedMachine,
    Drafting,
    LoadPoint,
    Machine,
    seconds_of,
)
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior, Traits, published_prior
from simulator.cost.fitted.roofline_machine import RooflineMachine
from simulator.cost.fitted.runs import Run
from simulator.cost.roofline.deployment import Deployment, over_pcie

# `--dtype` by the names that priors have; other formats are plain.
_FORMATS = {"fp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "int4": "int4",
            "q8_0": "gguf", "q4_0": "gguf"}  # fmt: skip
# Formats of weights that no table holds.
_NOT_MEASURED = ("float32", "q8_0", "q4_0")
Model = Literal["kernels", "public"]
# Smaller relative differences between the models are not reported.
_DIFFERENT = 0.15
# Models are compared at the γ that servers' documents start with.
_COMPARED = 3


class DeployedCost(NamedTuple):
    """The uncertain cost of a deployment, and its source.

    posterior: distribution of the parameters, given the runs.
    model: source of the passes' times: measured kernels, or the roofline.
    source: name of that source, for example "the roofline of h100-sxm".
    notes: why no kernels were used, and the other model's result if it differs.
    """

    posterior: Posterior
    model: Model
    source: str
    notes: tuple[str, ...]


def deployed_cost(
    deployment: Deployment,
    loads: Sequence[LoadPoint],
    *,
    model: Model | None = None,
    engine: str | None = None,
    dtype: str | None = None,
    runs: Sequence[Run] = (),
    known: Mapping[str, float] | None = None,
) -> DeployedCost:
    """Returns the cost of a deployment, with its uncertainty.

    Args:
      loads: loads to price, at least one.
      model: source of the passes' times; None: measured kernels if they cover the case.
      engine: the server; None: any of several.
      dtype: storage of the target's weights, if the user states it.
      runs: measurements of the deployment.
      known: parameters that the user states; they select the roofline.

    Raises:
      ValueError: if kernels are requested that were not measured, or runs contradict each other.
    """
    gpu, tp = deployment.hardware.name, deployment.conditions.tp
    machine = f"{gpu if tp == 1 else f'{tp} × {gpu}'}"
    public, prior = _public(deployment, engine, dtype)
    roofline = infer(public, prior.fixed(**(known or {})), runs)
    found = DeployedCost(roofline, "public", f"the roofline of {machine}", ())
    if model == found.model:
        return found
    why = "a stated efficiency is of the roofline" if known else missing(gpu, engine)
    if why is None and dtype in _NOT_MEASURED:
        why = f"no kernels were measured for weights in {dtype}"
    kernels: Machine | None = None
    if why is None:
        tables = MeasuredKernels(gpu, engine)
        try:
            kernels = CachedMachine(KernelMachine(deployment, tables))
            for load in (*loads, *(run.load for run in runs)):
                kernels.block_work(load, Drafting(_COMPARED))
        except ValueError as error:
            why = str(error)
    if kernels is None or why is not None:
        if model is not None:
            raise ValueError(f"{why}; --cost-model public takes {found.source} in their place")
        notes = () if why is None else (f"No measured kernels: {why}.",)
        return found._replace(notes=notes)
    prior = published_prior(_traits(deployment, engine, dtype), over="kernels")
    posterior = infer(kernels, prior, runs)
    source = f"kernels measured on {machine} ({tables.name})"
    return DeployedCost(posterior, "kernels", source, _differences(posterior, roofline, loads[0]))


def costs_of(
    deployment: Deployment, engine: str | None, dtype: str | None
) -> Callable[[Sequence[Run]], Posterior]:
    """Returns a function from runs to the posterior of a deployment's cost by the roofline."""
    machine, prior = _public(deployment, engine, dtype)
    return lambda runs: infer(machine, prior, runs)


def _public(deployment: Deployment, engine: str | None, dtype: str | None) -> tuple[Machine, Prior]:
    prior = published_prior(_traits(deployment, engine, dtype))
    return CachedMachine(RooflineMachine(deployment)), prior


def _traits(deployment: Deployment, engine: str | None, dtype: str | None) -> Traits:
    formats = {each.computed_in for each in deployment.target.weights}
    stored = next((name for name in ("fp4", "fp8") if name in formats), "plain")
    return Traits(
        engine,
        prior_of(deployment.draft.kind),
        _FORMATS.get(dtype or "", stored),
        mixture=any(each.experts for each in deployment.target.weights),
        pcie=over_pcie(deployment),
    )


def _differences(ours: Posterior, other: Posterior, load: LoadPoint) -> tuple[str, ...]:
    """Returns a note if the roofline's cost differs by more than _DIFFERENT; else nothing."""
    blocks = [
        seconds_of(each.machine.block_work(load, Drafting(_COMPARED)), each.logs)
        for each in (ours, other)
    ]
    steps = [seconds_of(each.machine.plain_work(load), each.logs) for each in (ours, other)]
    gain = steps[1] / blocks[1] * blocks[0] / steps[0] - 1
    slower = steps[1] / steps[0] - 1
    if max(abs(gain), abs(slower)) <= _DIFFERENT:
        return ()
    return (
        f"The roofline (--cost-model public) says {100 * abs(gain):.0f} % "
        f"{'more' if gain > 0 else 'less'} speed-up at gamma {_COMPARED}, and "
        f"{100 * abs(slower):.0f} % {'slower' if slower > 0 else 'faster'} steps without drafts.",
    )
