"""Profiles and validations of made-up pairs, for tests of their readers."""

from dataclasses import replace
from typing import Any

import numpy as np

from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate, Setup, Software, TextSettings
from estimator.profiles.profile import (
    AlphaBin,
    ClockCheck,
    Improvement,
    LeftOut,
    Profile,
    TextDetails,
    TimesMs,
)
from simulator.acceptance.acceptance import Iid
from simulator.acceptance.replay import Replay
from simulator.choice.curve import speed_up
from simulator.cost.curves import CostModel

TOKENS = 400
PROMPTS = 8
GAMMAS = (1, 2, 3, 4, 6, 8)


def made_profile(draft: str, *, alpha: float, c: float, slope: float = 0.1) -> Profile:
    """Returns the profile of a pair whose acceptances are alpha at each position.

    Args:
      draft: its name.
      alpha: acceptance rate.
      c: time of a draft step, in target steps of 10 ms.
      slope: time that each further token adds to a target pass, in target steps.
    """
    rows = {
        gamma: Replay(np.full(TOKENS, alpha), limit=TOKENS).blocks(gamma) / TOKENS
        for gamma in range(1, max(GAMMAS) + 1)
    }
    target_ms = {gamma + 1: 10 * (1 + slope * gamma) for gamma in (0, *GAMMAS)}
    profile = Profile(
        alpha=Alpha(alpha, alpha - 0.05, alpha + 0.05, 0.9, tokens=TOKENS, prompts=PROMPTS),
        draft_sampling="sampled",
        draftings={
            "sampled": DraftAcceptance(
                Alpha(alpha), {gamma: tuple(row.tolist()) for gamma, row in rows.items()}
            )
        },
        setup=Setup(
            target="big",
            draft=draft,
            device="cpu",
            threads=2,
            dtype="float32",
            sampling={"temperature": 1.0},
            software=Software(libraries={"torch": "2.13.0"}),
            texts=TextSettings("a1b2"),
            date="2026-11-21",
        ),
        times=TimesMs(
            target_ms,
            draft_ms=10 * c,
            drafting_ms={gamma: 10 * c * gamma for gamma in GAMMAS},
            overhead_ms=0.2,
            baseline_overhead_ms=0.1,
            c=Estimate(c, 0.9 * c, 1.1 * c),
        ),
        c_hat=0.1,
        details=TextDetails(tuple(AlphaBin(16 * i, alpha, 128) for i in range(3))),
        clock=ClockCheck(noise_percent=0.4, quiet=True, repeats=3),
    )
    cost = profile.cost
    assert isinstance(cost, CostModel)
    factors = {g: float(speed_up(profile.drafting().acceptance, cost, g)) for g in GAMMAS}
    best = max(factors, key=lambda gamma: factors[gamma])
    return replace(
        profile,
        improvement_factor={
            g: Improvement(factor, float(speed_up(Iid(alpha), cost, g)), 0.9 * factor, 1.1 * factor)
            for g, factor in factors.items()
        },
        left_out=LeftOut(
            alpha=_without(alpha, 1.0),
            c=_without(c, 0.9),
            improvement_factor={g: _without(factor, 1.0) for g, factor in factors.items()},
        ),
        optimal_gamma=best if factors[best] > 1 else 0,
        recommended_gamma=best if factors[best] > 1 else 0,
    )


def _without(value: float, share: float) -> tuple[float, ...]:
    """Returns a number with each of PROMPTS prompts left out, as far apart as texts are."""
    return tuple(share * value * (1 + (prompt - 3.5) / 200) for prompt in range(PROMPTS))


def made_validation(draft: str) -> dict[str, Any]:
    """Returns a validation as `specplan validate --json` prints it, as far as readers read it."""
    rows = [
        {
            "draft": draft, "temperature": temperature, "policy": "fixed", "gamma": gamma,
            "alpha": 0.8, "predicted": 1 + gamma / 10, "measured": 1.02 + gamma / 10,
            "measured_low": 0.98 + gamma / 10, "measured_high": 1.06 + gamma / 10,
            "target": "big", "prompts_hash": "a1b2", "tokens": 100,
            "measured_left_out": _without(1.02 + gamma / 10, 1.0),
            "draft_seconds": 1.0, "verify_seconds": 3.0, "other_seconds": 0.2,
        }
        for temperature in (0.0, 1.0)
        for gamma in (2, 4)
    ]  # fmt: skip
    return {"rows": rows, "summary": {}}


def made_tuning() -> dict[str, Any]:
    """Returns the content of a tuning's file, at two concurrencies, one run not obeyed."""
    expected = {
        "expected_ms_per_token": 5.0,
        "expected_ms_per_token_low": 4.0,
        "expected_ms_per_token_high": 6.25,
    }
    timed = {"concurrency": 1, "gamma": 3, "ms_per_token": 4.0, "error_percent": 1.5}
    refused = {"concurrency": 8, "gamma": 5, "measured": False, "note": "it drafted <4>"}
    gain = {"improvement_factor": 1.5, "improvement_factor_low": 1.25}
    advised = {"concurrency": 1, "gamma": 3, **gain, "improvement_factor_high": 1.75,
               "faster_than": {0: 0.96, 5: 0.75}}  # fmt: skip
    lost = {**advised, "faster_than": {}, "concurrency": 8, "gamma": 0, "gain_probability": 0.125}
    return {
        "format": "specplan tune 1",
        "setup": {"engine": "own", "temperature": 0.0, "machine": "EPYC, 2 cores"},
        "context": 80,
        "together": True,
        "rows": [
            {"concurrency": 1, "gamma": 0, "ms_per_token": 6.0, "began": 1795600000.0},
            {**timed, "block_efficiency": 2.5, **expected},
            {**refused, **expected},
        ],
        "advised": [
            {**advised, "gain_probability": 0.96, "ms_per_token": 4.0},
            {**lost, "ms_per_token": None},
        ],
        "next_gamma": 6,
        "flags": "--draft-max 3",
        "notes": ["drift 3 %"],
    }
