"""The decoders of a BiLD sweep: thresholds, fixed windows, and speculative decoding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from estimator.timing.arms import Speculative, probed_gammas
from estimator.timing.rates import PROBE
from reference.policies import Fixed
from reference.rules import STRICT, Lenient, Rule
from reference.speculative import Session, Subject
from studies.bild import LENIENCE
from studies.bild.decoder import Fallback, Rollback, bild_session
from studies.bild.request import Grid
from studies.bild.swept import BILD, SMALL, WINDOW


@dataclass(frozen=True, slots=True)
class Arm:
    """One decoder of a sweep: its name, the policy that ends drafts, and its acceptance rule."""

    decoder: str
    policy: Fallback | Fixed
    rule: Rule

    @property
    def longest(self) -> int:
        """Largest number of tokens in a draft."""
        return self.policy.value if isinstance(self.policy, Fixed) else self.policy.most

    def settings(self) -> dict[str, Any]:
        """Returns the fields of a `BildRow` that name the decoder and its thresholds."""
        policy, small = self.policy, self.decoder == SMALL
        threshold = self.rule.threshold if isinstance(self.rule, Rollback) else np.inf
        return {
            "decoder": self.decoder,
            "rule": self.rule.name,
            "policy": policy.name,
            "gamma": policy.value if isinstance(policy, Fixed) else None,
            "fallback": None if isinstance(policy, Fixed) or small else policy.threshold,
            "rollback": threshold if np.isfinite(threshold) else None,
            "most": None if small else self.longest,
        }

    def begin(self, subject: Subject, prompt: Sequence[int], generator: torch.Generator) -> Session:
        """Starts this decoder with the subject's models on a prompt; returns its session."""
        subject = replace(subject, rule=self.rule)
        if not isinstance(self.rule, Rollback):
            return Speculative(self.policy)(subject, prompt, generator)
        return bild_session(subject, prompt, self.policy, generator)


def arms_of(grid: Grid, end_ids: frozenset[int], max_new_tokens: int) -> list[Arm]:
    """Returns every decoder of the sweep except the large model without a draft.

    Each decoder refuses a setting that it cannot have.
    """

    def bild(decoder: str, fallback: float, longest: int, rollback: float) -> Arm:
        policy = Fallback(fallback, longest, grid.certainty, end_ids)
        return Arm(decoder, policy, Rollback(rollback, grid.distance))

    lenient = Lenient(LENIENCE if grid.lenience in (None, 1) else grid.lenience)
    return [
        bild(SMALL, 0.0, max_new_tokens, np.inf),
        *(
            bild(BILD, threshold, grid.max_draft, r)
            for r in grid.rollback
            for threshold in grid.fallback
        ),
        *(bild(WINDOW, 0.0, fixed, r) for r in grid.rollback for fixed in grid.windows),
        *(Arm("strict", Fixed(gamma), STRICT) for gamma in grid.gammas),
        *(Arm("lenient", Fixed(gamma), lenient) for gamma in grid.gammas),
    ]


def probes_of(grid: Grid, end_ids: frozenset[int]) -> dict[str, Arm]:
    """Returns the decoders that are run to measure costs, by name.

    There is one for each draft length 0, 1, 2, 4, …, `max_draft`. They never roll back, so all
    blocks of one decoder draft equally many tokens.
    """
    arms = {f"{PROBE}0": Arm(WINDOW, Fixed(0), Rollback(np.inf))}
    for length in probed_gammas(grid.max_draft):
        policy = Fallback(0.0, length, grid.certainty, end_ids)
        arms[f"{PROBE}{length}"] = Arm(WINDOW, policy, Rollback(np.inf))
    return arms
