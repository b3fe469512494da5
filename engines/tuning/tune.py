"""Tunes an engine that it starts, specplan's own decoder, or a running server."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engines.kind import Models
from engines.servers.in_process import OWN, OwnDecoder
from engines.trials.pair import SPARE_POSITIONS
from engines.tuning.bench import Bench
from engines.tuning.outlook import Costs
from engines.tuning.request import TuneEngine, TuneOwn, TuneServer
from engines.tuning.running import tune_running
from engines.tuning.search import Search, Shown
from engines.tuning.tuned import Tuned
from estimator.draft_names.kind import EMBEDDED
from estimator.loading.folders import folder_pair
from estimator.loading.pairs import load, one_draft
from estimator.progress import SILENT, Progress
from estimator.timing.arms import Subject
from estimator.timing.processes import require_one_process
from estimator.timing.threads import computing

# A bench, what its runs share, and the draft's name.
Ready = Iterator[tuple[Bench, dict[str, str], str]]


def tune(
    request: TuneEngine | TuneOwn | TuneServer,
    *,
    progress: Progress = SILENT,
    shown: Shown = lambda *_: None,
    costs: Costs | None = None,
) -> Tuned:
    """Returns the runs of a tuning and the advised γ.

    Args:
      progress: counts texts.
      costs: see `Search`.
    """
    require_one_process("tune")
    if isinstance(request, TuneServer):
        return tune_running(request, progress=progress, shown=shown, costs=costs)
    with _engine(request) if isinstance(request, TuneEngine) else _own(request) as ready:
        bench, setup, draft = ready
        bench.progress = progress
        search = Search(bench, setup, draft, shown, costs)
        return search.expected() if request.how.dry_run else search.run()


@contextmanager
def _engine(request: TuneEngine) -> Ready:
    kind = request.kind
    how = replace(request.how, together=request.together, draft_sampling=request.draft_sampling)
    with TemporaryDirectory(prefix="specplan-") as name:
        folder = Path(name)
        pair = folder_pair(request.target, request.drafts, how.text, folder)
        prompts = pair.prompts[: how.text.num_prompts]
        room = how.text.max_new_tokens + how.max_gamma + SPARE_POSITIONS
        models = Models(pair.target, pair.draft, folder, max(map(len, prompts)) + room)
        assert kind.start is not None  # requests name no others
        engine = kind.start(models, request.engine)
        setup = {"engine": kind.name, "target": pair.target_name, "draft": pair.draft_name,
                 "draft_sampling": how.draft_sampling, "flags": " ".join(engine.flags)}  # fmt: skip
        with Bench(engine, kind, prompts, how) as bench:
            yield bench, setup, pair.draft_name


@contextmanager
def _own(request: TuneOwn) -> Ready:
    models, sampling = request.models, request.sampling.at(request.how.temperature)
    draft, target = one_draft(models), EMBEDDED if models.target is None else models.target
    with computing(models.device, request.threads) as threads:
        loaded = load(models, request.how.text, sampling=request.sampling)
        [drafter_of] = loaded.drafters.values()
        subject = Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
        prompts = tuple(tuple(ids) for ids in loaded.prompts)
        setup = {"engine": OWN.name, "target": target, "draft": draft,
                 "flags": f"threads={threads.count}"}  # fmt: skip
        with Bench(OwnDecoder(subject), OWN, prompts, request.how) as bench:
            yield bench, setup, draft
