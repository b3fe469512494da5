"""Chooses a model of a deployment's passes, and infers its cost from the prior and the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from estimator.costs.same_chip import kernels_of
from estimator.model_shapes.head_kind import prior_of
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.machine import RooflineMachine, seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.cost.roofline.deployment import Deployment, over_pcie

# `--dtype` by the names that priors have; other formats are plain.
_FORMATS = {"fp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "int4": "int4",
            "q8_0": "gguf", "q4_0": "gguf", "gguf": "gguf"}  # fmt: skip
# Formats of weights that no table holds.
_NOT_MEASURED = ("float32", "q8_0", "q4_0", "gguf")
Model = Literal["kernels", "public"]
# Smaller relative differences between the models are not reported.
_DIFFERENT = 0.15
# Models are compared at the γ that servers' documents start with.
_COMPARED = 3


class DeployedCost(NamedTuple):
    """The cost of a deployment, and the model that gave the times of its forward passes.

    posterior: distribution of the cost's parameters, given the runs.
    model: "public" for the roofline, "kernels" for measured kernels.
    source: the model in words, for example "the roofline of h100-sxm".
    notes: why no measured kernels were used, or how far kernels and the roofline differ.
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

    Raises ValueError if the model is "kernels", and a kernel was not measured or `known` is given.

    loads: loads whose cost is computed, at least one.
    model: None: "kernels" if measured kernels cover all loads, else "public".
    engine: the server; None: unknown.
    dtype: number format of the target's weights; None: not stated by the user.
    runs: measured speeds of this deployment, which make the cost more certain.
    known: values by parameter that the user states. Only the roofline has these parameters.
    """
    dtype = deployment.target.stored_as if dtype is None else dtype
    gpu, gpus = deployment.hardware.name, deployment.conditions.gpus
    machine = (gpu if gpus == 1 else f"{gpus} × {gpu}") + deployment.conditions.parallel
    traits = _traits(deployment, engine, dtype)
    undrafted = replace(traits, draft=None)
    prior, bare = (published_prior(side).fixed(**known or {}) for side in (traits, undrafted))
    passes = RooflineMachine(deployment)
    roofline = infer(passes, prior, runs, infer(passes, bare, []))
    plain = DeployedCost(roofline, "public", f"the roofline of {machine}", ())
    if model == plain.model:
        return plain
    try:
        if known:
            raise ValueError("a stated efficiency is of the roofline")
        tables = kernels_of(gpu, engine)
        if dtype in _NOT_MEASURED:
            raise ValueError(f"no kernels were measured for weights in {dtype}")
        kernels = KernelMachine(deployment, tables)
        at = (*loads, *(run.load for run in runs))
        for load in at:
            kernels.plain_work(load)
        baseline = infer(kernels, published_prior(undrafted, over="kernels"), [])
        if roofline.bare is not None:  # no run is used
            plain = plain._replace(posterior=replace(roofline, bare=baseline))
        for load in at:
            kernels.block_work(load, _COMPARED)
    except ValueError as error:
        if model is not None:
            taken = f"`cost_model` public takes {plain.source} in their place"
            raise ValueError(f"{error}; {taken}") from None
        return plain._replace(notes=(f"No measured kernels: {error}.",))
    posterior = infer(kernels, published_prior(traits, over="kernels"), runs, baseline)
    source = f"kernels measured on {machine} ({tables.name})"
    return DeployedCost(posterior, "kernels", source, _differences(posterior, roofline, loads[0]))


def _traits(deployment: Deployment, engine: str | None, dtype: str | None) -> Traits:
    formats = {weight.computed_in for weight in deployment.target.weights}
    stored = next((name for name in ("fp4", "fp8") if name in formats), "plain")
    return Traits(
        engine,
        prior_of(deployment.draft.kind),
        _FORMATS.get(dtype or "", stored),
        mixture=any(weight.experts for weight in deployment.target.weights),
        pcie=over_pcie(deployment),
        several=deployment.conditions.gpus > 1,
        launch=deployment.launch,
    )


def _differences(kernels: Posterior, roofline: Posterior, load: LoadPoint) -> tuple[str, ...]:
    """Returns a note if kernels and roofline differ by over _DIFFERENT; else an empty tuple."""
    ratio, other_ratio = (
        seconds_of(side.machine.block_work(load, _COMPARED), side.logs)
        / seconds_of(side.machine.plain_work(load), side.logs)
        for side in (kernels, roofline)
    )
    step, other_step = (
        seconds_of(side.undrafted.machine.plain_work(load), side.undrafted.logs)
        for side in (kernels, roofline)
    )
    slower, gain = other_step / step - 1, ratio / other_ratio - 1
    if max(abs(gain), abs(slower)) <= _DIFFERENT:
        return ()
    return (
        f"The roofline (--cost-model public) says {100 * abs(gain):.0f} % "
        f"{'more' if gain > 0 else 'less'} speed-up at gamma {_COMPARED}, and "
        f"{100 * abs(slower):.0f} % {'slower' if slower > 0 else 'faster'} steps without drafts.",
    )
