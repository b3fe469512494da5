"""All stopping rules by name."""

from simulator.acceptance.stopping import llama_cpp, llama_cpp_older, product, transformers
from simulator.acceptance.stopping.rule import StoppingRule

RULES: dict[str, StoppingRule] = {
    module.RULE.name: module.RULE for module in (llama_cpp, llama_cpp_older, transformers, product)
}


def rule_of(name: str) -> StoppingRule:
    """Returns the rule of a name.

    Raises:
      ValueError: if there is none.
    """
    if name not in RULES:
        raise ValueError(f"stopping rule must be one of {', '.join(RULES)}, got {name}")
    return RULES[name]
