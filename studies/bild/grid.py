"""What a BiLD sweep tries: thresholds, windows, and what stands beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from estimator.runs.arms import PROBE, Subject, under
from reference.generation import Begun
from reference.policies.policy import Fixed
from reference.rules.lenience import Lenient
from reference.rules.strict import STRICT, Rule
from studies.bild.loop import begun_bild
from studies.bild.swept import BILD, SMALL, WINDOW
from studies.bild.thresholds import Fallback, Rollback


@dataclass(frozen=True, slots=True)
class Grid:
    """What is tried.

    fallbacks, rollbacks: thresholds, at least one of each; a rollback may be infinite.
    most: the most tokens that the small model writes in a row.
    measure, distance: names of those that the thresholds are of.
    windows: draft lengths without a fallback (Figure 5's ablation).
    gammas: of speculative decoding.
    leniences: of speculative decoding beside the strict rule.

    Raises:
      ValueError: if the grid is empty.
    """

    fallbacks: tuple[float, ...]
    rollbacks: tuple[float, ...]
    most: int
    measure: str
    distance: str
    windows: tuple[int, ...] = ()
    gammas: tuple[int, ...] = (1, 2, 4, 8)
    leniences: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        if not self.fallbacks or not self.rollbacks:
            raise ValueError(
                "a sweep must have at least one fallback and one rollback, got "
                f"{len(self.fallbacks)} and {len(self.rollbacks)}"
            )

    def arms(self, end_ids: frozenset[int], max_new_tokens: int) -> list["Arm"]:
        """Returns every way to decode but the large model alone."""

        def fallback(threshold: float, most: int) -> Fallback:
            return Fallback(threshold, most, self.measure, end_ids)

        def rollback(threshold: float) -> Rollback:
            return Rollback(threshold, self.distance)

        arms = [Arm(SMALL, fallback(0.0, max_new_tokens), rollback(np.inf), None)]
        pairs = [(own, other) for other in self.rollbacks for own in self.fallbacks]
        arms += [Arm(BILD, fallback(own, self.most), rollback(other), own)
                 for own, other in pairs]
        arms += [Arm(WINDOW, fallback(0.0, window), rollback(other), 0.0)
                 for other in self.rollbacks for window in self.windows]
        arms += [Arm("strict", Fixed(gamma), STRICT, None) for gamma in self.gammas]
        arms += [Arm("lenient", Fixed(gamma), Lenient(lenience), None)
                 for lenience in self.leniences for gamma in self.gammas]
        return arms

    def probes(self, end_ids: frozenset[int]) -> dict[str, "Arm"]:
        """Returns the arms that measure costs, by name: draft lengths of powers of 2, the longest.

        Nothing is rolled back, so that each of their blocks drafts as many tokens.
        """
        lengths = sorted({*(2**power for power in range(8) if 2**power < self.most), self.most})
        nothing = Arm(WINDOW, Fixed(0), Rollback(np.inf), 0.0)
        return {f"{PROBE}0": nothing} | {
            f"{PROBE}{length}": replace(
                nothing, policy=Fallback(0.0, length, self.measure, end_ids)
            )
            for length in lengths
        }


@dataclass(frozen=True, slots=True)
class Arm:
    """A way to decode.

    fallback: the threshold, of BiLD alone; 0 of a fixed window.
    """

    decoder: str
    policy: Fallback | Fixed
    rule: Rule
    fallback: float | None

    @property
    def rollback(self) -> float | None:
        """BiLD's threshold; None where nothing is rolled back by distance."""
        finite = isinstance(self.rule, Rollback) and np.isfinite(self.rule.threshold)
        return self.rule.threshold if isinstance(self.rule, Rollback) and finite else None

    @property
    def most(self) -> int:
        """The longest draft."""
        return self.policy.value if isinstance(self.policy, Fixed) else self.policy.most

    @property
    def name(self) -> str:
        """Tells the arms of a sweep apart."""
        return f"{self.decoder} {self.rule.name} {self.fallback} {self.most}"

    def begin(self, subject: Subject, prompt: Sequence[int], generator: torch.Generator) -> Begun:
        """Returns a text that the subject's pair decodes so, begun."""
        subject = replace(subject, rule=self.rule)
        if not isinstance(self.rule, Rollback):
            return under(self.policy)(subject, prompt, generator)
        return begun_bild(subject, prompt, self.policy, generator)
