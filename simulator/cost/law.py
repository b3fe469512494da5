"""The distribution of a cost's times, as a cost that is in doubt has it."""

from collections.abc import Sequence
from typing import Protocol

from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import Forecast


class CostLaw(Protocol):
    """Joint distribution of a server's times (`simulator.cost.fitted.posterior.Posterior`)."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that the distribution was fitted to."""

    @property
    def covariance(self) -> Floats:
        """Covariance of the parameters' logarithms."""

    @property
    def calibrated(self) -> bool:
        """Whether predicted probabilities of a gain can be trusted."""

    def measured(self, load: LoadPoint) -> dict[int, float]:
        """Returns the speed-up that the runs at a load measured, by γ, as they are."""

    def left_out(self, load: LoadPoint) -> set[int]:
        """Returns each γ whose run at a load is impossible, and not used."""

    def modelled(self, load: LoadPoint, gammas: Sequence[int]) -> Floats:
        """Returns log(baseline step / block) by the model without the runs' deviations."""

    def checking_ratio(self, load: LoadPoint, tokens: int) -> float:
        """Returns the most probable time to check `tokens` tokens over a plain step's time."""

    def speed_ups(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the speed-up for each γ; lengths: mean tokens per block."""

    def seconds_per_token(
        self, load: LoadPoint, gammas: Sequence[int], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the time between two tokens of a sequence, for each γ."""
