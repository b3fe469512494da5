"""One line of a validation: a draft, a temperature and a gamma policy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What was predicted of one draft, temperature and policy, and what came of it.

    Speed-ups are of decoding, prefill apart, except the two `end_to_end` ones.

    gamma: of a fixed policy, else None, and so are the predictions.
    rule: of acceptance, by name; lossless: whether it keeps the target's law.
    draft_temperature: of the draft's own sampling; None where it has none to set.
    alpha: mean of sum min(p, q) over texts sampled from the target before the run; under a
      lenient rule with its p/l in place of p (Leviathan et al. 2023, A.5).
    c: seconds of a draft step over seconds of a target step; None where nothing was drafted.
    predicted_theorem8: verification free, acceptances i.i.d.
    predicted_ahead, _low, _high: replay over those other texts; None for a lossy rule, which
      leaves the target's texts.
    predicted_calibrated: replay over the run's own texts; costs measured apart; None for a lossy
      rule above temperature 0, as its texts are not the target's.
    measured, _low, _high: baseline seconds over the run's, each block by its fastest repeat; the
      interval is over prompts. All bounds of intervals are None where there is one prompt.
    predicted_target_calls, target_calls: on the run's own texts.
    identical_to_target: every id equal to greedy decoding's; None above temperature 0.
    tie_gap: where it is not, the target's logit gap at the first difference, the largest over
      prompts; else None.
    draft_seconds, verify_seconds, other_seconds: of the run.
    target, prompts_hash: what the run was of, to tell which rows may be compared.
    measured_left_out: measured with each prompt left out, in their order; empty of a single one.
    """

    draft: str
    temperature: float
    draft_temperature: float | None
    policy: str
    gamma: int | None
    rule: str
    lossless: bool
    alpha: float
    c: float | None
    predicted_theorem8: float | None
    predicted_ahead: float | None
    predicted_ahead_low: float | None
    predicted_ahead_high: float | None
    predicted_calibrated: float | None
    measured: float
    measured_low: float | None
    measured_high: float | None
    predicted_target_calls: float | None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float | None
    tokens: int
    identical_to_target: bool | None
    tie_gap: float | None
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    baseline_tokens_per_second: float
    tokens_per_second: float
    end_to_end_predicted: float | None
    end_to_end_measured: float
    target: str = ""
    prompts_hash: str = ""
    measured_left_out: tuple[float, ...] = ()

    @property
    def error_percent(self) -> float | None:
        """100 (predicted_calibrated - measured) / measured."""
        if self.predicted_calibrated is None:
            return None
        return 100 * (self.predicted_calibrated - self.measured) / self.measured
