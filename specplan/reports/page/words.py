"""Words of pages with their meanings, as docs/glossary.md gives them: only those on the page."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

# By word: its pattern on pages, and the beginning of its meaning in the glossary.
MEANINGS = {
    "speculation": (
        r"speculation|speculate",
        "a draft proposes tokens and the target checks them together; the output distribution is "
        "the target's",
    ),
    "draft": (
        r"draft(?:s|ed|er)?",
        "the part that proposes tokens: a smaller model, a head, an n-gram model, a copy from the "
        "prompt",
    ),
    "target": (
        r"target (?:step|pass|call)s?",
        "the model that you want to accelerate; its output distribution never changes",
    ),
    "K": (
        r"K",
        "how many tokens are drafted before the target checks them",
    ),
    "α": (
        r"α",
        "how often a drafted token is accepted, if all before it were, on average over a text",
    ),
    "c": (
        r"c(?! of operations)",
        "time of one draft step over time of one target step",
    ),
    "c of operations": (
        r"c of operations",
        "arithmetic operations of one draft step over operations of one target step",
    ),
    "block": (
        r"blocks?",
        "one round: draft K tokens, check them in one pass of the target, emit 1 to K + 1 tokens",
    ),
    "tokens per call": (
        r"(?:tokens )?per call",
        "tokens emitted per pass of the target, including the target's own token",
    ),
    "speed-up": (
        r"speed-ups?|times the speed",
        "time per token without speculation over time per token with speculation",
    ),
    "odds of a gain": (
        r"odds of a gain|a gain is|a loss is",
        "probability that the advised K is faster than no speculation, given the uncertainty of "
        "all inputs",
    ),
    "interval": (
        r"intervals?",
        "range that contains the true value with the stated confidence, 90 % by default",
    ),
    "batch": (
        r"batch|at once",
        "how many requests the server decodes together in one step",
    ),
    "TTFT": (
        r"TTFT|time to the first token",
        "time from a request's arrival to its first token",
    ),
    "TPOT": (
        r"TPOT|(?:time|ms) (?:per|a) token",
        "mean time between two tokens of a request",
    ),
    "capacity": (
        r"capacity",
        "the largest rate of requests that a server sustains; above it, it is overloaded and "
        "waiting times grow without end",
    ),
    "risk of overload": (
        r"risk of overload",
        "probability that the rate exceeds the capacity, with costs and acceptance in doubt",
    ),
    "replica": (
        r"replicas?",
        "one copy of the model with its GPUs; requests are spread over all",
    ),
    "TP": (
        r"TP",
        "how many GPUs share each layer",
    ),
    "p50, p95, p99": (
        r"p50|p95|p99",
        "the value that 50, 95 or 99 % of the requests stay below",
    ),
    "roofline": (
        r"roofline",
        "the time of a pass estimated from operations, bytes read and the data sheet of a GPU",
    ),
    "kernels": (
        r"kernels",
        "a GPU's arithmetic routines. Their measured times add up to the time of a pass",
    ),
    "p-min": (
        r"p[-_]min",
        "the draft ends early once its confidence falls below a threshold",
    ),
    "captured graph": (
        r"captured graphs?",
        "a recorded step that is replayed without launching kernels one by one",
    ),
}


def words_in(section: Any) -> list[tuple[str, str]]:
    """Returns the words that a section shows, each with its meaning, in the glossary's order."""
    text = "\n".join(_texts(section))
    return [
        (word, meaning)
        for word, (pattern, meaning) in MEANINGS.items()
        if re.search(rf"(?<![-\w.])(?:{pattern})(?![-\w])", text, re.IGNORECASE * (len(word) > 1))
    ]


def _texts(part: Any) -> Iterator[str]:
    """Yields the texts of a section and its parts, without flags and commands."""
    if isinstance(part, str):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            if field.name not in ("flags", "command", "explorer", "key", "mark"):
                yield from _texts(getattr(part, field.name))
    elif isinstance(part, list | tuple):
        for one in part:
            yield from _texts(one)
