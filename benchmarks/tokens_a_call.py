"""Measures tokens per target call with block verification and with drawn trees, embedded pair.

    python benchmarks/tokens_a_call.py --gammas 2 4 8 16 --nodes
    python benchmarks/tokens_a_call.py --gammas --nodes 4 8 16 --prompts 6 --tokens 48

Decodes each prompt several times in two ways and counts target calls, without a clock: chains of
each gamma, verified by token and as a block; and the trees of each size that yield most tokens,
with likeliest children and with children drawn without replacement. Predictions use other texts of
the target: chains by replay, trees by the acceptance of each of the draft's choices. Intervals are
over prompts.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

from embedded_pair import CPU, Pair, embedded_pair

from estimator.intervals import ratio_interval
from estimator.timing.arms import Speculative, without_draft
from estimator.traces.scoring import trace
from estimator.traces.traces import Trace, acceptance_by_rank, block_efficiency
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import TreeDrafter, likeliest, without_replacement
from reference.laws import Sampling, seeded
from reference.policies import Fixed
from reference.records import Stopping
from reference.rules import BlockVerification
from reference.speculative import Subject
from simulator.schemes.trees import best_trees, tree_tokens

RANKS = 16


@dataclass(frozen=True)
class Way:
    """A way to decode, and its predicted tokens per call; None: no prediction."""

    name: str
    subject: Subject
    gamma: int
    predicted: float | None


def recorded(pair: Pair, subject: Subject, max_gamma: int) -> list[Trace]:
    """Returns the traces of a text of the target after each prompt."""
    texts = [
        without_draft(subject, prompt, seeded(CPU, 1, number)).finished()
        for number, prompt in enumerate(pair.prompts)
    ]
    pairs = zip(pair.prompts, texts, strict=True)
    return [trace(subject, prompt, text.tokens, max_gamma=max_gamma) for prompt, text in pairs]


def blocks(subject: Subject, traces: list[Trace], gamma: int) -> tuple[Way, Way]:
    """Returns a chain judged by token and as a block."""
    jointly = [trace.judged("block", gamma) for trace in traces]
    return (
        Way("by token", subject, gamma, block_efficiency(traces, gamma)),
        Way("by block", replace(subject, rule=BlockVerification()), gamma,
            block_efficiency(jointly, gamma)),
    )  # fmt: skip


def trees(subject: Subject, rates: tuple[float, ...], nodes: int) -> tuple[Way, Way]:
    """Returns a tree of the likeliest tokens and one of drawn ones."""
    parents = best_trees(rates, max_nodes=nodes, max_depth=nodes).parents(nodes, nodes)
    assert isinstance(subject.drafter, ModelDrafter)
    first, second = (
        replace(subject, drafter=TreeDrafter(subject.drafter, parents, choose))
        for choose in (likeliest, without_replacement)
    )
    predicted = tree_tokens(parents, rates)
    return Way("likeliest", first, nodes, predicted), Way("drawn", second, nodes, None)


def calls(way: Way, prompts: list[list[int]], repeats: int, place: int) -> Iterator[float]:
    """Yields the calls of a token, by prompt, added up over its texts."""
    begin = Speculative(Fixed(way.gamma))
    for number, prompt in enumerate(prompts):
        sources = (seeded(CPU, 2 + repeat, number, place) for repeat in range(repeats))
        runs = [begin(way.subject, prompt, source).finished() for source in sources]
        yield sum(run.target_calls / len(run.tokens) for run in runs)


def percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gammas", type=int, nargs="*", default=[2, 4, 8, 16], help="of chains")
    parser.add_argument("--nodes", type=int, nargs="*", default=[4, 8, 16], help="of trees")
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3, help="texts of each prompt and way")
    parser.add_argument("--tokens", type=int, default=96)
    given = parser.parse_args()
    pair = embedded_pair(given.prompts)
    drafter = ModelDrafter(pair.draft, Sampling(), pair.target.vocabulary)
    subject = Subject(pair.target, drafter, Sampling(), Stopping(given.tokens))
    traces = recorded(pair, subject, max([1, *given.gammas]))
    rates = acceptance_by_rank(traces, RANKS)
    print("acceptance by rank", " ".join(f"{rate:.3f}" for rate in rates))
    compared = {f"chain of {gamma}": blocks(subject, traces, gamma) for gamma in given.gammas}
    compared |= {f"tree of {nodes}": trees(subject, rates, nodes) for nodes in given.nodes}
    print("| draft | way | tokens a call | predicted | way | tokens a call | predicted "
          "| gain, % [90 %] | predicted |")  # fmt: skip
    print("|---" * 9 + "|")
    for name, ways in compared.items():
        cells = [name]
        counted = []
        for place, way in enumerate(ways):
            counted.append(list(calls(way, pair.prompts, given.repeats, place)))
            tokens = len(pair.prompts) * given.repeats / sum(counted[-1])
            shown = "-" if way.predicted is None else f"{way.predicted:.2f}"
            cells += [way.name, f"{tokens:.2f}", shown]
        low, high = ratio_interval(*counted)
        gain = sum(counted[0]) / sum(counted[1])
        cells.append(f"{percent(gain)} [{percent(low)}, {percent(high)}]")
        first, second = (way.predicted for way in ways)
        cells.append(percent(None if first is None or second is None else second / first))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
