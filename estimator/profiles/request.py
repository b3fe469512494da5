"""Arguments of a measurement by specplan's own decoder."""

from dataclasses import dataclass
from pathlib import Path

from estimator.rule_names import VERIFICATION
from estimator.settings import TimedPair
from estimator.traces.trace_file import traces_path

CONTEXT = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(TimedPair):
    """Settings of a measurement: the acceptance and costs of a target and a draft.

    draft_temperature: temperature of the draft; None: the target's temperature.
    compiling: whether passes are compiled: off, on or try.
    max_gamma: the longest timed draft.
    batch_size: number of texts that the target generates at once for acceptance.
    batches: batch sizes at which passes are timed, too.
    context: tokens in the cache of each sequence of such a batch; None: 128.
    output: file for the profile, with its traces in the same folder; None: no file is written.
    """

    draft_temperature: float | None = None
    compiling: str = "off"
    verification: str = VERIFICATION
    temperature: float = 1.0
    max_gamma: int = 16
    batch_size: int = 1
    batches: tuple[int, ...] = ()
    context: int | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        if self.context is not None and not self.batches:
            raise ValueError("context needs a batch whose passes are timed, got none")

    @property
    def tokens_in_cache(self) -> int:
        """Number of tokens in the cache of each sequence, when passes over a batch are timed."""
        return CONTEXT if self.context is None else self.context

    @property
    def kept(self) -> Path | None:
        """Path of the saved traces; None if traces are not saved, for example to -o /dev/null."""
        if self.output is None or (self.output.exists() and not self.output.is_file()):
            return None
        return traces_path(self.output)

    @property
    def flags(self) -> tuple[str, ...]:
        """The stated options that change how passes ran."""
        compiled = () if self.compiling == "off" else (f"--compile {self.compiling}",)
        placed = self.models.device_map
        return compiled if placed is None else (*compiled, f"--device-map {placed}")
