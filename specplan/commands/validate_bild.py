"""`specplan validate --decoder bild`: quality against latency over BiLD's thresholds."""

from __future__ import annotations

from estimator.validation.file import BILD, validation_json
from specplan.options.shown import Written
from specplan.reports.bar import Bar
from specplan.reports.bild import report
from specplan.reports.output import answer
from studies.bild.request import ValidateBild, validate_thresholds


def validate_bild(request: ValidateBild, form: Written) -> None:
    """Sweeps thresholds with each draft at each temperature, and prints what came of it."""
    with Bar("validate", "run") as bar:
        swept = validate_thresholds(request, bar)
    grid = request.grid
    document = validation_json(
        BILD,
        [row for each in swept.sweeps for row in each.rows],
        certainty=grid.measure,
        distance=grid.distance,
        most=grid.most,
        summaries=[each.summary.data() for each in swept.sweeps],
        prompts=swept.prompts,
        repeats=swept.repeats,
        precision_percent=swept.precision_percent,
        threads=swept.threads.count,
        free_cores=swept.threads.free,
        top_p=request.sampling.top_p,
    )
    answer(
        document,
        lambda: report(swept),
        form=form,
    )
