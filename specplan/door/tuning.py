"""Tuning from Python: `specplan.tune`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from specplan.door.inputs import (
    Prompts,
    engine_of,
    models_of,
    of_engine,
    require_known,
    source_of,
)
from specplan.reports.bar import Bar

if TYPE_CHECKING:
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer
    from engines.tuning.tuned import Tuned

__all__ = ["tune"]


class SearchOptions(TypedDict, total=False):
    """How a search ends and what it may do: options of `specplan tune`.

    worth: per cent of speed that a further run must promise; 0.2 if not given.
    max_runs: most runs at each concurrency, the baseline not counted; 6 if not given.
    temperature: temperature of the target; 0, greedy, if not given.
    seed: seed of the texts and of the order of runs.
    dry_run: whether no run is made, and only the first ones are planned.
    """

    worth: float
    max_runs: int
    temperature: float
    seed: int
    dry_run: bool


def tune(
    target: str | None = None,
    draft: str | None = None,
    *,
    server: str | None = None,
    prompts: Prompts | None = None,
    max_new_tokens: int = 64,
    concurrency: Sequence[int] = (1,),
    max_gamma: int = 16,
    output: str | Path | None = None,
    **search: Unpack[SearchOptions],
) -> Tuned:
    """Finds the best draft length on this machine in few runs, as `specplan tune` does.

    Args:
      target, draft, prompts, max_new_tokens: see `measure`.
      server: an engine to start, by its name for `--engine`, or the URL of a running server; None:
        specplan's own decoder.
      concurrency: numbers of simultaneous requests; each has its own search.
      max_gamma: the largest draft length to run.
      output: file of runs, which a later call continues; None: no file.
      search: worth, max_runs, temperature, seed, dry_run; see `specplan.door.tuning.SearchOptions`.

    Returns:
      the runs in `rows`, the advice for each concurrency in `advised`, and the server's flags.

    Raises OSError, ValueError if a file, a server or a setting cannot be used.
    """
    from engines.sources import is_live
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer, Tuning
    from engines.tuning.tune import tune
    from estimator.settings import SamplingSettings, TimingSettings
    from simulator.numerics.arguments import integer

    require_known(search, SearchOptions)
    integer("max_gamma", max_gamma, at_least=1)
    integer("max_runs", search.get("max_runs", 1), at_least=1)
    with source_of(prompts, max_new_tokens) as text, Bar("tune", "text") as bar:
        how = Tuning(
            text=text,
            timing=TimingSettings(),
            concurrencies=tuple(concurrency),
            max_gamma=max_gamma,
            output=None if output is None else Path(output),
            **search,
        )
        request: TuneEngine | TuneOwn | TuneServer
        if server is None:
            request = TuneOwn(how=how, models=models_of(target, draft), sampling=SamplingSettings())
        elif is_live(server):
            if (target, draft) != (None, None):
                raise ValueError(f"target and draft must not be given with the server {server}")
            request = TuneServer(how=how, server=server)
        else:
            engine = engine_of({"engine": server, "concurrency": concurrency})
            assert engine is not None
            request = TuneEngine(how=how, **of_engine(engine, target, draft, text, how.seed))
        return tune(request, progress=bar)
