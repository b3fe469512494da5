"""transformers: a draft ends after a token whose own probability is below the threshold."""

from simulator.acceptance.stopping.rule import StoppingRule

RULE = StoppingRule(
    name="transformers",
    confidence="own",
    keeps=True,
    product=False,
    option="assistant_confidence_threshold",
    builds="since 4.46 (default 0.4); specplan's own --policy confidence:P is the same rule",
    source="generation/stopping_criteria.py, ConfidenceCriteria: softmax of all scores",
)
