"""The prior fitted to public measurements, by engine, kind of draft, weights and mixture.

`benchmarks/published_speculation.py --fit` writes published_prior.json: the mean logarithm of each
parameter over all deployments, the effect of each trait (shrunk towards 0 if few deployments have
it), the covariance between deployments, and the errors of speed-ups for each kind of draft.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from simulator.cost.fitted.machine import COUNT, PARAMETERS
from simulator.cost.roofline.deployment import LAUNCH_SECONDS, Launch
from simulator.numerics.arguments import Floats

# Times of passes that the parameters correct.
Base = Literal["roofline", "kernels"]
FILES: Mapping[Base, Path] = {
    "roofline": Path(__file__).with_name("published_prior.json"),
    "kernels": Path(__file__).with_name("kernels_prior.json"),
}
DRAFTS = ("EAGLE", "EAGLE tree", "MTP", "block", "model", "n-gram")
# Kinds of draft whose passes some servers replay as captured graphs and others launch kernel by
# kernel, and the engine of 2024 for which this is known. OUTSIDE is the standard deviation of the
# logarithm of their time outside of passes, with the best interval score among 1 to 4 (of known
# graphs: 0.6 to 3, of which 0.6 to 1.5 do not differ) where each source is left out; of eager
# launches, of the logarithm of LAUNCH_SECONDS (0.3 to 0.9 ms in public measurements).
APART, V0 = ("model",), "vllm-v0"
OUTSIDE: Mapping[Launch | None, float] = {None: 3.0, "graphs": 1.5, "eager": 0.45}
# Engines that are averaged if the user does not state the engine of a data-centre GPU.
ANY_ENGINE = ("vllm", "sglang")
# Kinds of draft for which predicted gains came true too rarely while no run was known: at predicted
# probabilities of 0.5 to 0.75, none of 10 loads gained (benchmarks/published_advice.py).
NOT_CALIBRATED = ("model",)
# For each trait without published data, UNKNOWN is added to the factor 1 on the covariance. UNMET
# multiplies the error that speed-ups of a load share for each of `Traits.meetings` without data.
UNKNOWN, UNMET = 0.3, 1.5
# Jumps of step times without configurations. `benchmarks/jumps.py` compares their laws.
JUMPS = ((0.002, 0.35), (0.02, 0.3), (0.06, 0.25), (0.15, 0.1))
# Variance of the logarithm of a number that a user states.
SURE = 1e-8


@dataclass(frozen=True, slots=True)
class Prior:
    """The distribution of the parameters, and the model's errors, before any run.

    logs, covariance: mean and covariance of the parameters' natural logarithms, shapes (COUNT,) and
      (COUNT, COUNT).
    level_error: standard deviation of log(measured time / modelled time).
    ratio_error: standard deviation of log(measured speed-up / modelled speed-up), per run.
    load_error: standard deviation of a further error that all speed-ups of one load share.
    calibrated: whether predicted probabilities of a gain match observed frequencies.
    jumps: standard deviation τ of a jump of the time between γ and γ + 1, and its probability
      (`simulator.cost.fitted.deviations`).
    """

    logs: Floats
    covariance: Floats
    level_error: float
    ratio_error: float
    load_error: float = 0.0
    calibrated: bool = True
    jumps: tuple[tuple[float, float], ...] = ((0.0, 1.0),)

    def with_outside(self, other: Prior) -> Prior:
        """Returns the prior with another's times of blocks and drafts outside of passes."""
        logs, covariance = self.logs.copy(), self.covariance.copy()
        places = [PARAMETERS.index(name) for name in ("block", "draft")]
        logs[places] = other.logs[places]
        covariance[places, :] = covariance[:, places] = 0
        covariance[np.ix_(places, places)] = other.covariance[np.ix_(places, places)]
        return replace(self, logs=logs, covariance=covariance)

    def fixed(self, **known: float) -> Prior:
        """Returns the prior with some parameters fixed; known: their values by name, at least 0."""
        logs, covariance = self.logs.copy(), self.covariance.copy()
        for name, value in known.items():
            index = PARAMETERS.index(name)
            with np.errstate(divide="ignore"):  # a time may be known to be 0
                logs[index] = np.log(value)
            covariance[index, :] = covariance[:, index] = 0
            covariance[index, index] = SURE
        return replace(self, logs=logs, covariance=covariance)


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits by which deployments differ.

    engine: name of the engine's family in the fitted data; None averages over several engines. An
      engine without data has larger errors.
    draft: kind of draft, a name in DRAFTS; None: a server without a draft.
    weights: storage of the target's weights: "plain" (16 bits), "fp8", "fp4", "int4" or "gguf".
    mixture: whether the target is a mixture of experts.
    pcie: whether several GPUs share the target over PCIe.
    several: whether several GPUs share the target.
    launch: how the draft's kernels are launched; None: not known.
    """

    engine: str | None
    draft: str | None
    weights: str = "plain"
    mixture: bool = False
    pcie: bool = False
    several: bool = False
    launch: Launch | None = None

    @property
    def meetings(self) -> tuple[str, ...]:
        """Engine with kind of deployment, e.g. "vllm, mixture", as in published_prior.json."""
        kinds = ("mixture",) * self.mixture + ("several GPUs",) * self.several
        return tuple(f"{self.engine}, {kind}" for kind in kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the effects that apply to these traits, as in published_prior.json."""
        draft = () if self.draft is None else (f"draft {self.draft}",)
        engine = () if self.engine is None else (f"engine {self.engine}",)
        both = (self.group,) if draft and engine else ()
        weights = () if self.weights == "plain" else (f"weights {self.weights}",)
        others = ("mixture",) * self.mixture + ("PCIe",) * self.pcie
        return (*draft, *engine, *both, *weights, *others)

    @property
    def target(self) -> str:
        """The kind of target, whose errors apply to a server without a draft."""
        return "a mixture" if self.mixture else "a dense target"

    @property
    def group(self) -> str:
        """The group of fitted measurements, "engine, draft", whose errors of speed-ups apply."""
        return f"{self.engine}, {self.draft}"


def published_prior(
    traits: Traits, *, effects: Mapping[str, Any] | None = None, over: Base = "roofline"
) -> Prior:
    """Returns the prior of the parameters of a deployment with these traits.

    effects: the content of another published_prior.json; None: the shipped file.
    over: the model of pass times that the parameters correct.
    """
    if traits.draft not in (None, *DRAFTS):
        raise ValueError(f"draft must be one of {', '.join(DRAFTS)}, got {traits.draft}")
    if traits.engine is None:
        engines = ("llama.cpp",) if traits.weights == "gguf" else ANY_ENGINE
        of_engines = [replace(traits, engine=engine) for engine in engines]
        return _mixture([published_prior(one, effects=effects, over=over) for one in of_engines])
    fitted = _published(over) if effects is None else effects
    known = [fitted["effects"][name] for name in traits.names if name in fitted["effects"]]
    doubt = 1 + UNKNOWN * (len(traits.names) - len(known))
    errors = fitted["errors"]
    group = traits.target if traits.draft is None else traits.group
    level, ratio, shared = errors.get(group, errors["all"])
    shared *= UNMET ** len({*traits.meetings} - {*fitted["meetings"]})
    logs, covariance = (
        np.sum([fitted["mean"], *known], axis=0),
        doubt * np.array(fitted["covariance"]),
    )
    measured_v0 = traits.engine == V0 and traits.group in errors
    if traits.launch == "eager" or (traits.draft in APART and not measured_v0):
        index = PARAMETERS.index("draft")
        covariance[index, :] = covariance[:, index] = 0
        covariance[index, index] = OUTSIDE[traits.launch] ** 2
        logs[index] = np.log(LAUNCH_SECONDS) if traits.launch == "eager" else logs[index]
    prior = Prior(
        logs,
        covariance,
        level,
        ratio,
        shared,
        calibrated=traits.draft not in NOT_CALIBRATED,
    )
    # A look-up runs on the CPU, where no kernel was measured.
    looks_up = over == "kernels" and traits.draft == "n-gram"
    return prior.with_outside(published_prior(traits)) if looks_up else prior


def _mixture(priors: Sequence[Prior]) -> Prior:
    """Returns the normal prior with the mean and covariance of an equally weighted mixture."""
    logs = np.array([prior.logs for prior in priors])
    errors = np.array(
        [(prior.level_error, prior.ratio_error, prior.load_error) for prior in priors]
    )
    level, ratio, shared = np.sqrt(np.mean(errors**2, axis=0)).tolist()
    off = logs - logs.mean(axis=0)
    return Prior(
        logs.mean(axis=0),
        np.mean([prior.covariance for prior in priors], axis=0) + off.T @ off / len(priors),
        level,
        ratio,
        shared,
        calibrated=all(prior.calibrated for prior in priors),
    )


def vague_prior(step_seconds: Sequence[float]) -> Prior:
    """Returns a wide prior of a `FittedMachine`, scaled to the shortest of some step times."""
    logs, deviations = np.zeros(COUNT), np.ones(COUNT)
    # In the published sweeps a block spends about a fifth of a step outside the models, and a
    # drafted token with its verification a tenth; each may be three times more or less.
    for name, share, deviation in (("roof", 0.9, 0.5), ("block", 0.2, 1.1), ("draft", 0.1, 1.1)):
        index = PARAMETERS.index(name)
        logs[index], deviations[index] = np.log(share * min(step_seconds)), deviation
    # Runs carry their own errors; here is the error of the model's form.
    return Prior(logs, np.diag(deviations**2), level_error=0.005, ratio_error=0.01, jumps=JUMPS)


@cache
def _published(over: Base) -> dict[str, Any]:
    fitted: dict[str, Any] = json.loads(FILES[over].read_text("utf-8"))
    if tuple(fitted["parameters"]) != PARAMETERS:
        raise ValueError(f"{FILES[over].name} must be of this release's parameters")
    return fitted
