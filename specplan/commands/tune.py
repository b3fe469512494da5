"""`specplan tune`: finds the best gamma on this machine in few runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options import model_options as shared
from specplan.options.command import COUNT, Command, option, rare, reads, takes
from specplan.options.deployment import Deployed
from specplan.options.inputs.roofline import deployment_of
from specplan.options.values import Printed, answer, duration, json_option, numbers, output_option
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.tuning.outlook import Costs, Outlook
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer
    from engines.tuning.tuned import TunedRun


def _p_mins(ctx: click.Context, param: click.Parameter, value: str) -> tuple[float, ...] | None:
    if value != "auto":
        return numbers(ctx, param, value)
    from engines.tuning.request import AUTO_P_MINS

    return AUTO_P_MINS


OWN = "own"


class TuneSearchOptions:
    """How the search runs and ends.

    temperature: The target's; 0 is greedy decoding.
    max_gamma: The largest gamma to run.
    worth: End when a further run promises less speed.
    max_runs: Most runs at each concurrency, the baseline not counted.
    p_mins: Then try ending a draft below these confidences, such as 0.3,0.5 (auto), at the best
      gamma and twice that.
    time_limit: Begin no further run after this; the first always ends.
    repeats: Times that a run takes all prompts, at most; it ends when it is exact enough.
    synthetic: Acceptance rates by position that the engine simulates, unconditional: to tune prices
      without a trained draft.
    dry_run: Only show the runs to begin with, and what to expect.
    """

    temperature: float = option(default=0.0)
    max_gamma = option(type=COUNT, default=16)
    worth: float = option(metavar="PERCENT", default=0.2)
    max_runs = option(type=COUNT, default=6)
    p_mins: str | None = option("--p-min", callback=_p_mins, metavar="auto|LIST")
    time_limit: float | None = option(metavar="SECONDS", callback=duration)
    repeats = option(type=COUNT, default=3)
    synthetic = rare(callback=numbers)
    dry_run: bool = option()


class TuneOptions:
    """The running server, the seed, and where the answer goes.

    server: A llama.cpp or vLLM server that runs already.
    """

    server = option(metavar="URL")
    seed = shared.seed_option
    output = output_option("Keep the runs here, and go on with those that it has.")
    as_json = json_option


@reads("engines.tuning.request:TuneEngine", Deployed, Printed)
def tune_engine(request: TuneEngine, deployed: Deployed, form: Printed) -> None:
    _tune(request, _costs(deployed, request.target, request.drafts, request.engine.engine), form)


@reads("engines.tuning.request:TuneOwn", Deployed, Printed)
def tune_own(request: TuneOwn, deployed: Deployed, form: Printed) -> None:
    # The decoder itself reads --dtype.
    _tune(request, _costs(deployed, request.models.target, request.models.drafts, OWN), form)


@reads("engines.tuning.request:TuneServer", Deployed, Printed)
def tune_server(request: TuneServer, deployed: Deployed, form: Printed) -> None:
    _tune(request, _costs(deployed, None, (), request.engine), form)


def _costs(
    deployed: Deployed, target: str | None, drafts: tuple[str, ...], engine: str | None
) -> Costs | None:
    """Returns the function that estimates costs from runs and a prior; None without a GPU."""
    if deployed.gpu is None and deployed.gpu_flops is None:
        if replace(deployed, dtype=None if engine == OWN else deployed.dtype) != Deployed():
            raise click.UsageError("--gpu must be given with --target-config, --dtype and so on")
        return None
    from estimator.costs.deployed_cost import deployed_cost

    draft = drafts[0] if len(drafts) == 1 else None
    deployed = replace(
        deployed,
        target_config=_config(deployed.target_config, target, "target"),
        draft_config=_config(deployed.draft_config, draft, "draft"),
        dtype=None if deployed.dtype == "auto" else deployed.dtype,
    )
    deployment, server = deployment_of(deployed), None if engine == OWN else engine
    return lambda runs, load: (
        deployed_cost(deployment, [load], engine=server, dtype=deployed.dtype, runs=runs).posterior
    )


def _config(stated: Path | None, folder: str | None, model: str) -> Path:
    """Returns the path of the stated config.json, else of the config.json in the model's folder."""
    path = Path(folder or "") / "config.json"
    if stated is None and (folder is None or not path.is_file()):
        raise click.UsageError(f"--{model}-config must be given with --gpu, got no folder's own")
    return path if stated is None else stated


def _tune(request: TuneEngine | TuneOwn | TuneServer, costs: Costs | None, form: Printed) -> None:
    from engines.tuning.tune import tune
    from specplan.reports.tuning import progress_text, tuned_data, tuned_text

    dry_run = request.how.dry_run
    with Bar("tune", "text") as bar:

        def show(now: Outlook, row: TunedRun | str | None) -> None:
            if not dry_run:
                bar.print(progress_text(now, row), err=True)

        found = tune(request, progress=bar, shown=show, costs=costs)
    data = tuned_data(found)
    answer(lambda: data, lambda: tuned_text(found, dry_run=dry_run), form=form)


@click.command(
    "tune", cls=Command, ways={"--server": tune_server, "--engine": tune_engine, "": tune_own}
)
@takes(
    shared.ModelOptions, heading=shared.MODELS, without=("draft_temperature", "repetition_penalty")
)
@takes(shared.EngineRunOptions, heading=shared.ON_ENGINE)
@takes(TuneSearchOptions, heading="Search")
@takes(
    Deployed,
    heading="First guess",
    without=("engine_family", "cost_model"),
    rare=("target_config", "draft_config", "tp"),
)
@takes(TuneOptions)
def tune_command(**_: object) -> None:
    """Find the best gamma on this machine, in few runs.

    Times the target without speculation and the gamma that is expected to be best, learns from
    both, and runs the next gamma that promises most, until a further run is worth less than
    --worth. Ends with the server's flags. Killed, it goes on from its file (-o).

    \b
    Examples:
      specplan tune --engine llama.cpp --target T --draft D -o tuned.json
      specplan tune
      specplan tune --engine vllm --target T --draft D --concurrency 1,8,32
      specplan tune --server http://localhost:8080 -o tuned.json
      specplan plan --runs tuned.json
    """
