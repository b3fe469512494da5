"""Plans for several acceptances or costs, such as batch sizes, at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.advice import NEAR
from simulator.choice.curve import Covariance
from simulator.choice.plan import DEFAULT_MAX_GAMMA, Plan, plan
from simulator.cost.cost import Cost

# A longer table would be too long to read.
MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Arguments of `plans`.

    acceptances, costs: at least one of each.
    c_hat, gamma, max_gamma, near, doubt: arguments of `plan`. If c_hat or gamma is None, the plan
      uses `c_hat` or `usual_gamma` of the cost's setting, whose `longest` applies if it is smaller.
    notes: sentences for readers of the plans.
    reads_again: whether the target, which has recurrent layers, reads a block's accepted tokens
      again after a rejection.
    finer: given all plans so far, returns further costs to plan; called until it returns none.
    """

    acceptances: tuple[Acceptance, ...]
    costs: tuple[Cost, ...]
    c_hat: float | None = None
    gamma: int | None = None
    max_gamma: int = DEFAULT_MAX_GAMMA
    near: float = NEAR
    doubt: Covariance | None = None
    reads_again: bool = False
    finer: Callable[[Sequence[Plan]], Sequence[Cost]] | None = None
    notes: tuple[str, ...] = ()


def plans(request: PlanRequest) -> tuple[Plan, ...]:
    """Returns a plan for each acceptance with each cost; sorted by load if `finer` adds costs."""
    rows = len(request.acceptances) * len(request.costs)
    if rows > MOST_ROWS:
        raise ValueError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    planned = _each(request, request.costs)
    while request.finer is not None and (costs := request.finer(planned)):
        planned = sorted([*planned, *_each(request, costs)], key=lambda row: row.place)
    return tuple(planned)


def _each(request: PlanRequest, costs: Sequence[Cost]) -> list[Plan]:
    rows = []
    for acceptance, cost in product(request.acceptances, costs):
        if cost.setting.load is not None:
            acceptance = acceptance.at_context(cost.setting.load.context)
        if request.reads_again:
            cost = cost.reading_again(acceptance.rejected)
        row = plan(
            acceptance,
            cost,
            c_hat=cost.setting.c_hat if request.c_hat is None else request.c_hat,
            gamma=cost.setting.usual_gamma if request.gamma is None else request.gamma,
            max_gamma=cost.setting.up_to(request.max_gamma),
            near=request.near,
            doubt=request.doubt,
        )
        rows.append(replace(row, only=request.gamma, notes=(*row.notes, *request.notes)))
    return rows
