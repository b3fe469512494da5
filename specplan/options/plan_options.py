"""The options of `specplan plan` except acceptance and cost: draft, choice, graphs and answer."""

from dataclasses import dataclass
from types import MappingProxyType

import click

from specplan.options.command import option, rare
from specplan.options.values import EngineName, Written

# From servers' names of drafts to the kinds of `engines.kind.Drafted`.
DRAFT_KINDS = MappingProxyType(
    {
        "eagle3": "EAGLE-3",
        "mtp": "MTP",
        "dflash": "DFlash",
        "suffix": "suffix",
        "ngram": "n-gram",
        "draft-model": "model",
    }
)
# Drafters that copy, as --draft names them.
COPIES = MappingProxyType({"suffix": "suffix", "ngram": "lookup"})


@dataclass(frozen=True)
class DraftNamed:
    """Names of the models, the kind of draft, and the largest γ.

    target: The target's name. With --draft, the sizes in both names check c.
    draft: The draft model's name. For --export, and with --target for a check of c.
    draft_kind: Kind of draft, without --draft-config. It selects the usual acceptance after the
      counted positions, and the method that --export names.
    max_gamma: The largest gamma to consider.
    """

    target: str | None = rare("--target", metavar="NAME")
    draft: str | None = option("--draft", metavar="NAME")
    draft_kind: str | None = option(type=click.Choice(tuple(DRAFT_KINDS)))
    max_gamma: int = rare(default=32, metavar="G")


@dataclass(frozen=True)
class Choice(DraftNamed):
    """Candidates and criteria of the choice of γ.

    c_hat: Operations of a draft step over operations of a target step.  [default: c]
    gamma: Evaluate this gamma.  [default: the best]
    near: Advise the smallest gamma that is at most this much slower than the best.
    reads_again: The target reads accepted tokens again. Recurrent layers do so after a rejection.
    """

    c_hat: float | None = rare()
    gamma: int | None = option(metavar="G")
    near: float = rare(type=click.FloatRange(0, 100, max_open=True), default=1.0, metavar="PERCENT")
    reads_again: bool = option(default=False)


@dataclass(frozen=True)
class Graphs:
    """Limits of captured graphs.

    graph_tokens: Most tokens of a step in captured graphs; 0: no limit.  [default: vLLM's 512]
    graph_requests: Most requests of a step in captured graphs; 0: no limit.  [default: SGLang's
      256, TensorRT-LLM's 128]
    """

    graph_tokens: int | None = rare(type=click.IntRange(min=0), metavar="N")
    graph_requests: int | None = rare(type=click.IntRange(min=0), metavar="N")


@dataclass(frozen=True)
class StoppingOptions:
    """Thresholds and rule of drafts that end early.

    p_min: Also plan the confidence below which a draft ends. Thresholds, or auto for 0 to 0.95;
      needs --profile. For a lookup on recorded texts: the least number of matched tokens.
    stopping_rule: The rule of --p-min: llama.cpp, llama.cpp-older, transformers, product,
      calibrated.  [default: the rule of --export's server, else llama.cpp]
    """

    p_min: str | None = option(metavar="auto|P,…")
    stopping_rule: str | None = rare(metavar="RULE")


@dataclass(frozen=True)
class Answer(Written):
    """The file and the form of an answer, and the server to print flags for.

    server: Print only the flags of the advised gamma. --gamma states another.
    """

    server: str | None = option("--export", type=EngineName(lambda kind: kind.exports))
