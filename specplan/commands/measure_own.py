"""`specplan measure` by its own decoder."""

from estimator.profiles.measure import measure
from estimator.profiles.request import Measure
from specplan.reports.bar import Bar, Kept
from specplan.reports.output import Written
from specplan.reports.profile import print_profile
from specplan.reports.together import refusing_together


def measure_own(request: Measure, form: Written) -> None:
    """Measures a pair into a profile that plans read."""
    kept = Kept(form.output if request.kept is not None else None)
    with kept.told(), Bar("measure", "run") as bar:
        profile = measure(request, bar, traced=kept, refusing=refusing_together)
    if profile is not None:
        print_profile(profile, form)
