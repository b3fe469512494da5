"""`specplan observe`: what a running deployment accepts, and the gamma it should run with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.options.cost import CostOptions, cost_options, pricings
from specplan.options.deployment import (
    DeploymentOptions,
    LoadOptions,
    deployment_options,
    load_options,
)
from specplan.options.json_option import json_option
from specplan.options.measured_load import measured_pricings
from specplan.options.roofline import roofline_pricings
from specplan.reports.observation import observation_json, observation_line, observation_text
from specplan.reports.output import folded, print_json, warn, writable
from specplan.reports.plan import Basis, plan_json, plan_text

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling
    from simulator.choice.plan import Plan
    from specplan.reports.pricing import Pricing

FOLLOWED_SECONDS = 10.0


@click.command("observe")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--gamma",
    type=click.IntRange(min=1),
    metavar="G",
    help="The deployment's, where the source does not tell it.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Read twice, S seconds apart, and take what was counted between.",
)
@click.option("--follow", is_flag=True, help="Print a line every --interval until Ctrl-C.")
@click.option(
    "--since",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="An earlier scrape of the same server, to be subtracted; of several sources one each.",
)
@cost_options
@deployment_options
@load_options
@click.option(
    "--profile",
    "profile_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Costs from a file that `specplan measure` wrote.",
)
@click.option(
    "--max-gamma", type=int, default=32, metavar="G", help="The largest gamma to consider."
)
@click.option(
    "--draft-sampling",
    type=click.Choice(["argmax", "sampled"]),
    default="argmax",
    help="How the deployment drafts, for the profile; its counters do not tell.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write a profile here, to plan with.",
)
@json_option
def observe_command(
    sources: tuple[str, ...],
    gamma: int | None,
    interval: float | None,
    follow: bool,
    since: tuple[str, ...],
    cost: CostOptions,
    deployment: DeploymentOptions,
    load: LoadOptions,
    profile_path: Path | None,
    max_gamma: int,
    draft_sampling: DraftSampling,
    output: Path | None,
    as_json: bool,
) -> None:
    """Tell what a running deployment accepts, and the gamma it should run with.

    SOURCE is a server's URL (its /metrics: vLLM, llama.cpp, SGLang), a saved metrics page, a log of
    vLLM, the result of `vllm bench serve --save-result`, or answers of llama.cpp with their
    timings. Several of one kind are summed.

    With a cost, as `specplan plan` takes it, every gamma is planned; those beyond the observed one
    are marked.

    \b
    Examples:
      specplan observe http://localhost:8000 --interval 60
      specplan observe http://localhost:8000 --target-ms 19 --draft-ms 1.6
      specplan observe vllm.log --c 0.05 -o observed.json
      specplan plan --profile observed.json --c 0.05
    """
    from engines.sources import between, observe, readings

    priced = _price(cost, deployment, load, profile_path, max_gamma)
    if follow:
        _refuse_with_follow({"--json": as_json, "--output": output, "--since": since})
        seconds = FOLLOWED_SECONDS if interval is None else interval
        _follow(sources, gamma, seconds, priced, max_gamma)
        return
    if interval is not None:
        if since:
            raise click.UsageError("--interval cannot be combined with --since")
        *_, observation = _intervals(sources, gamma, interval, count=1)
    elif since:
        if len(since) != len(sources):
            raise click.UsageError(
                f"--since must be given once for each source, got {len(since)} for {len(sources)}"
            )
        earlier, later = (readings(each, gamma=gamma) for each in (since, sources))
        observation = between(sources, earlier, later)
    else:
        observation = observe(sources, gamma=gamma)
    _require_drafts(observation)
    data = observation_json(observation, seconds=interval)
    text = folded(observation_text(observation, seconds=interval))
    if priced is not None:
        plan = _plan(observation, priced, max_gamma)
        basis = Basis(counted=True, c_hat_is_c=priced.c_hat is None)
        data["plan"] = plan_json(plan, basis, priced)
        text += "\n\n" + plan_text(plan, basis, priced)
    if output is not None:
        _write(observation, draft_sampling, priced, output)
    if as_json:
        print_json(data)
        return
    click.echo(text)
    if output is not None:
        needs = "" if priced is not None and priced.cost.in_seconds else " --c C"
        click.echo(f"\nWrote {output}; plan with it: specplan plan --profile {output}{needs}")


def _price(
    cost: CostOptions,
    deployment: DeploymentOptions,
    load: LoadOptions,
    profile_path: Path | None,
    max_gamma: int,
) -> Pricing | None:
    """Returns the cost that the options state; None where they state none."""
    profile: Profile | None = None
    if profile_path is not None:
        from estimator.profiles.profile_file import read_profile

        profile = read_profile(profile_path)
        if profile.cost is None:
            raise ValueError(f"profile {profile_path} must hold costs, got acceptance alone")
    under_load = measured_pricings(deployment, load, profile, also=cost.stated)
    roofline = None
    if under_load is None:
        roofline = roofline_pricings(deployment, load, max_gamma=max_gamma)
    if profile is None and roofline is None and not cost.stated:
        return None
    found = under_load or pricings(cost, roofline=roofline, profile=profile)
    if len(found) > 1:
        raise click.UsageError(f"observe takes one cost, got {len(found)}: state one c, one load")
    return found[0]


def _refuse_with_follow(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--follow cannot be combined with {name}")


def _require_drafts(observation: Observation) -> None:
    """Refuses counts of nothing.

    Raises:
      ValueError: if no draft was counted.
    """
    if observation.drafts == 0 or observation.drafted == 0:
        raise ValueError(
            "drafts must be at least 1, got 0: no request was decoded in that time, or speculation "
            "is off"
        )


def _intervals(
    sources: tuple[str, ...], gamma: int | None, seconds: float, *, count: int | None
) -> Iterator[Observation]:
    """Gives what each interval counted; without a count, for ever.

    Raises:
      click.UsageError: if a source is no live server.
      ValueError: where a count is given, if a server was restarted meanwhile; else it is warned.
    """
    from engines.sources import between, is_live, readings, total

    saved = [source for source in sources if not is_live(source)]
    if saved:
        raise click.UsageError(f"--interval and --follow need a server's URL, got {saved[0]}")
    before, read = readings(sources, gamma=gamma), 0
    total(before)   # refuses sources that differ, which no wait mends
    while count is None or read < count:
        time.sleep(seconds)
        after = readings(sources, gamma=gamma)
        try:
            yield between(sources, before, after)
        except ValueError as error:
            if count is not None:
                raise
            warn(str(error))
        before, read = after, read + 1


def _follow(
    sources: tuple[str, ...],
    gamma: int | None,
    seconds: float,
    priced: Pricing | None,
    max_gamma: int,
) -> None:
    for observation in _intervals(sources, gamma, seconds, count=None):
        clock = f"{datetime.now():%H:%M:%S}"
        if observation.drafts == 0 or observation.drafted == 0:
            click.echo(f"{clock}  no drafts")
            continue
        line = observation_line(observation, clock=clock)
        if priced is not None:
            line += f"  best gamma {_plan(observation, priced, max_gamma).optimal_gamma}"
        click.echo(line)


def _plan(observation: Observation, priced: Pricing, max_gamma: int) -> Plan:
    from simulator.choice.plan import plan

    return plan(
        observation.acceptance,
        priced.cost,
        c_hat=priced.c_hat,
        gamma=observation.gamma,
        max_gamma=max_gamma if priced.max_gamma is None else min(max_gamma, priced.max_gamma),
        batch=priced.batch,
    )


def _write(
    observation: Observation,
    draft_sampling: DraftSampling,
    priced: Pricing | None,
    output: Path,
) -> None:
    from engines.observing.profiles import observed_profile
    from estimator.profiles.profile_file import write_profile
    from simulator.cost.curves import CostModel

    cost = None if priced is None else priced.cost
    write_profile(
        observed_profile(
            observation,
            draft_sampling=draft_sampling,
            cost=cost if isinstance(cost, CostModel) else None,
        ),
        output,
    )
