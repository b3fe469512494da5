"""llama.cpp: a draft ends before a token that is not likely enough."""

from simulator.acceptance.stopping.rule import StoppingRule

RULE = StoppingRule(
    name="llama.cpp",
    confidence="largest of ten",
    keeps=False,
    product=False,
    option="--spec-draft-p-min",
    builds="since pull request 22506 (April 2026)",
    source="common/speculative.cpp: the draft's sampler has top_k = 10; a token is not added where "
    "cur_p->data[0].p < p_min",
)
