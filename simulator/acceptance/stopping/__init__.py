"""Stopping rules: a file for each, which names where its engine applies it, and their replay."""

from simulator.acceptance.stopping import llama_cpp, llama_cpp_older, product, transformers
from simulator.acceptance.stopping.rule import StoppingRule

RULES: dict[str, StoppingRule] = {
    module.RULE.name: module.RULE for module in (llama_cpp, llama_cpp_older, transformers, product)
}
