"""Stopping rules, their replay, and verification by rank."""

from simulator.acceptance.stopping.rule import StoppingRule

_RULES = (
    StoppingRule(
        "llama.cpp", "largest of ten", keeps=False, option="--spec-draft-p-min",
        builds="since pull request 22506 (April 2026)",
        source="common/speculative.cpp: the draft's sampler has top_k = 10; a token is not added "
        "where cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "llama.cpp-older", "largest of ten", keeps=True, option="--draft-p-min",
        builds="from November 2024 (default 0.75) to pull request 22506 (April 2026)",
        source="common/speculative.cpp: the token is added, then drafting ends where "
        "cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "transformers", "own", keeps=True, option="assistant_confidence_threshold",
        builds="since 4.46 (default 0.4); specplan's own --policy confidence:P is the same rule",
        source="generation/stopping_criteria.py, ConfidenceCriteria: softmax of all scores",
    ),
    StoppingRule(
        "product", "own", keeps=True, product=True, source="reference/policies.py",
        builds="specplan's own decoder, --policy product:P",
    ),
    StoppingRule(
        "calibrated", "largest", keeps=True, product=True, calibrated=True,
        builds="in no engine yet, with confidences calibrated on other texts",
        source="estimator/traces/calibration.py",
    ),
)  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}
