"""specplan's own --policy product:P: a draft ends when its next token is unlikely to be reached."""

from simulator.acceptance.stopping.rule import StoppingRule

RULE = StoppingRule(
    name="product",
    confidence="own",
    keeps=True,
    product=True,
    option="",
    builds="specplan's own decoder, --policy product:P",
    source="reference/policies/policy.py",
)
