"""A profile of a deployment's acceptance: rates by position instead of traces."""

from datetime import date

from engines.observing.alphas import alpha_spread
from engines.observing.by_batch import by_batch, lines_of
from engines.observing.observation import Observation
from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate, Setup, TextSettings
from estimator.profiles.profile import Profile, TimesMs
from estimator.traces.traces import DraftSampling
from simulator.cost.curves import CostModel
from simulator.cost.fitted.runs import USUAL_ERROR, LoadPoint, Run
from simulator.numerics.intervals import CONFIDENCE

UNKNOWN = "unknown"
# The name in exported flags of a draft that only the deployment knows.
PLACEHOLDER = "DRAFT"


def counted_drafting(
    observation: Observation, *, tokens: int, prompts: int | None = None
) -> DraftAcceptance:
    """Returns the acceptance that a deployment's counts show.

    Without counts by position, rates follow from i.i.d. acceptance and have no intervals.

    tokens, prompts: numbers of tokens and prompts that were counted, to store with α.
    """
    alpha, spread = observation.alpha_iid, alpha_spread(observation.requests)
    rates = [Estimate(rate.value, rate.low, rate.high) for rate in observation.unconditional]
    if not observation.hits:
        rates = [Estimate(alpha.value**at) for at in range(1, observation.gamma + 1)]
    return DraftAcceptance(
        Alpha(
            alpha.value, alpha.low, alpha.high, confidence=CONFIDENCE, tokens=tokens,
            prompts=prompts, spread=spread,
        ),
        accepted_by_position=tuple(rates),
        cut_short=observation.cut_short,
        counted=observation.counted,
    )  # fmt: skip


def observed_profile(
    observation: Observation, *, draft_sampling: DraftSampling, cost: CostModel | None
) -> Profile:
    """Returns a profile of the observed deployment, to plan with.

    draft_sampling: how the deployment drafts, which its counters do not show.
    cost: times of blocks in seconds; None if the user does not state them.
    """
    drafting = counted_drafting(observation, tokens=observation.drafted)
    return Profile(
        alpha=drafting.alpha,
        draft_sampling=draft_sampling,
        draftings={draft_sampling: drafting},
        setup=Setup(
            target=UNKNOWN if observation.model is None else observation.model,
            draft=PLACEHOLDER,
            texts=TextSettings(max_gamma=observation.gamma),
            date=date.today().isoformat(),
            engine=observation.kind,
            engine_version=observation.version,
        ),
        times=None if cost is None else TimesMs.of(cost),
    )


def observed_run(observation: Observation, *, context: int) -> Run | None:
    """Returns the observation as one run of its server; None if nothing was timed.

    context: tokens in each sequence's cache, which no source reports.
    """
    timed = observation.timed
    if timed is None:
        return None
    load = LoadPoint(context, 1 if timed.batch is None else timed.batch)
    errors = [batch.error for batch in by_batch(lines_of(timed)) if batch.batch == timed.batch]
    error = errors[0] if errors else USUAL_ERROR
    if observation.drafts == 0:
        return Run(load, timed.seconds_per_token, error=error, model=observation.model)
    counted = observation.counted
    return Run(
        load,
        timed.seconds_per_token,
        observation.gamma,
        counted.length,
        error,
        counted.rates,
        counted.drafts,
        observation.model,
        observation.draft_share,
        counted.drafted,
    )
