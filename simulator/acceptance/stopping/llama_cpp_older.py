"""llama.cpp before pull request 22506: a draft ends after a token that is not likely enough."""

from simulator.acceptance.stopping.rule import StoppingRule

RULE = StoppingRule(
    name="llama.cpp-older",
    confidence="largest of ten",
    keeps=True,
    product=False,
    option="--draft-p-min",
    builds="from November 2024 (default 0.75) to pull request 22506 (April 2026)",
    source="common/speculative.cpp: the token is added, then drafting ends where "
    "cur_p->data[0].p < p_min",
)
