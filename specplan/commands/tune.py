"""`specplan tune`: finds the best gamma on this machine in few runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

import specplan.options.deployment  # noqa: F401 - declares the options of `Deployed`
from engines.kind import EngineSettings
from engines.tuning.outlook import Costs, Outlook
from engines.tuning.request import AUTO_P_MINS, TuneEngine, TuneOwn, TuneServer, Tuning
from engines.tuning.tuned import TunedRun
from estimator.model_shapes.gguf_header import is_gguf
from estimator.writing import builtins, write_json
from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.api.deployed import Deployed
from specplan.api.deployment import deployment_of
from specplan.api.results import tuned_json
from specplan.options import model_options as shared
from specplan.options.answer import Pictured, answer, json_option, output_option, stated_command
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, declare, option, rare, takes
from specplan.options.values import duration, numbers
from specplan.reports.bar import Bar
from specplan.reports.table import GAMMA, MS, interval, ranged, shown
from specplan.reports.tuning import knobs, sentence, tuned_text

OWN = "own"
_LINE = "{:>7}  {:>11}  {:>8}  {:>6}  {:>21}  {}"
_HEAD = _LINE.format("at once", GAMMA, MS, "length", f"expected [{percent()}]", "best so far")


def _p_mins(ctx: click.Context, param: click.Parameter, value: str) -> tuple[float, ...] | None:
    return AUTO_P_MINS if value == "auto" else numbers(ctx, param, value)


declare(
    Tuning,
    max_gamma=option(type=COUNT),
    worth=option(metavar="PERCENT"),
    max_runs=option(type=COUNT),
    p_mins=option("--p-min", callback=_p_mins, metavar="auto|LIST"),
    synthetic=rare(callback=numbers),
)
# Fields of `Tuning` that other records state.
_STATED = ("text", "timing", "seed", "concurrencies", "output")


class RepeatOptions:
    """How runs repeat and end.

    time_limit: Begin no further run after this time; the first run is always finished.
    repeats: Most times that a run decodes all prompts; it ends earlier when it is exact enough.
    """

    time_limit: float | None = option(metavar="SECONDS", callback=duration)
    repeats = option(type=COUNT, default=3)


class TuneOptions:
    """Options of the running server, the seed and the output.

    server: A llama.cpp or vLLM server that runs already.
    """

    server = option(metavar="URL")
    seed = shared.seed_option
    output = output_option(help="Keep the runs here, and go on with those that it has.")
    as_json = json_option


@reads(TuneEngine, Deployed, Pictured)
def tune_engine(request: TuneEngine, deployed: Deployed, form: Pictured) -> None:
    _tune(request, _costs(deployed, request.target, request.drafts, request.engine.engine), form)


@reads(TuneOwn, Deployed, Pictured)
def tune_own(request: TuneOwn, deployed: Deployed, form: Pictured) -> None:
    # The decoder itself reads --dtype.
    _tune(request, _costs(deployed, request.models.target, request.models.drafts, OWN), form)


@reads(TuneServer, Deployed, Pictured)
def tune_server(request: TuneServer, deployed: Deployed, form: Pictured) -> None:
    _tune(request, _costs(deployed, None, (), request.engine), form)


def _costs(
    deployed: Deployed, target: str | None, drafts: tuple[str, ...], engine: str | None
) -> Costs | None:
    """Returns a function that estimates costs from the stated GPU and from runs; None: no GPU."""
    if deployed.gpu is None and deployed.gpu_flops is None:
        dtype = None if engine == OWN else deployed.dtype
        if replace(deployed, engine=None, dtype=dtype) != Deployed():
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
    known: Any = {"engine": None if engine == OWN else engine, "dtype": deployed.dtype}
    deployment = deployment_of(deployed)
    return lambda runs, load: deployed_cost(deployment, [load], runs=runs, **known).posterior


def _config(stated: Path | None, folder: str | None, model: str) -> Path:
    """Returns the stated path, else the model's own: its config.json or GGUF."""
    path = Path(folder or "") if is_gguf(folder) else Path(folder or "") / "config.json"
    if stated is None and (folder is None or not path.is_file()):
        raise click.UsageError(f"--{model}-config must be given with --gpu, got no folder's own")
    return path if stated is None else stated


def _tune(request: TuneEngine | TuneOwn | TuneServer, costs: Costs | None, form: Pictured) -> None:
    from engines.tuning.tune import tune

    dry_run = request.how.dry_run
    with Bar("tune", "text") as bar:

        def show(now: Outlook, row: TunedRun | str | None) -> None:
            if not dry_run:
                bar.print(_progress_text(now, row), err=True)

        tuned = tune(request, progress=bar, shown=show, costs=costs)
    if tuned.command is None:
        tuned = msgspec.structs.replace(tuned, command=stated_command())
    if request.how.output is not None and not dry_run:
        write_json({"sentence": sentence(tuned), **builtins(tuned)}, request.how.output)
    answer(lambda: tuned_json(tuned), lambda: tuned_text(tuned, dry_run=dry_run), form=form)


@click.command(
    "tune", cls=Command, ways={"--server": tune_server, "--engine": tune_engine, "": tune_own}
)
@takes(*shared.MODEL_RECORDS, heading=shared.MODELS, without=("repetition_penalty",))
@takes(EngineSettings, heading=shared.ON_ENGINE)
@takes(Tuning, RepeatOptions, heading="Search", without=_STATED)
@takes(
    Deployed,
    heading="First guess",
    without=("engine", "cost_model"),
    rare=("target_config", "draft_config", "tp"),
)
@takes(TuneOptions, Pictured)
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


def _best(now: Outlook, gamma: int) -> str:
    if gamma == 0:
        return "gamma 0, the baseline"
    odds = f", odds of a gain {percentage(now.advice.gain_probability or 0.0)}"
    return f"gamma {gamma}, {ranged(*now.gain(gamma))} times{odds * (gamma == now.advice.named)}"


def _progress_text(now: Outlook, row: TunedRun | str | None) -> str:
    """Returns the line to print after a run, or before the first run the expected best γ.

    row: the run; None: before the first run; a text: returned above the table's heading.
    """
    if row is None or isinstance(row, str):
        expected = f"Expected at {now.load.batch} at once: {_best(now, now.advice.named)}."
        return f"{row}\n{_HEAD}" if row else expected
    time, length = shown(row.ms_per_token), shown(row.block_efficiency)
    forecast, best = interval(row, "expected_ms_per_token"), row.note or _best(now, now.best_run)
    return _LINE.format(row.concurrency, knobs(row), time, length, forecast, best)
