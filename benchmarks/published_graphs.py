"""Prints what published blocks take beyond the 512 tokens a step that vLLM captures as graphs.

    python benchmarks/published_graphs.py

Each row is a load of one server with several γ, some within the graphs and some beyond. A block's
time is the time per token times the accepted length. "More a token" is what each further drafted
token adds, in milliseconds, within the graphs and beyond; the jump is what the first γ beyond takes
over the line through the last two γ within. A second; no model is loaded.
"""

from __future__ import annotations

from collections import defaultdict

from published_rows import read_table
from published_speculation import table_head, table_row

MOST_TOKENS = 512


def main() -> None:
    loads: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for facts in read_table():
        known = facts["gamma"] and facts["batch"] and facts["length"]
        if known and facts["engine"] == "vllm" and not facts["version"].startswith("0.6"):
            names = ("source", "target", "kind", "gpu", "dataset", "context", "batch")
            block = float(facts["with_ms"]) * float(facts["length"])
            loads[tuple(facts[name] for name in names)][int(facts["gamma"])] = block
    head = ("", "batch", "block, ms, by K (tokens a step)", "more a token within", "beyond", "jump")
    print(table_head(head))
    for (_, target, kind, gpu, *_, batch), found in sorted(loads.items()):
        blocks = sorted(found.items())
        within = [each for each in blocks if int(batch) * (each[0] + 1) <= MOST_TOKENS]
        beyond = [each for each in blocks if each not in within]
        if len(within) < 2 or not beyond:
            continue
        (before, slow), (last, slower) = within[-2:]
        slope = (slower - slow) / (last - before)
        (first, block), (longest, slowest) = beyond[0], beyond[-1]
        after = (slowest - slower) / (longest - last)
        jump = block / (slower + slope * (first - last)) - 1
        listed = ", ".join(f"{k}: {ms:.1f} ({int(batch) * (k + 1)})" for k, ms in blocks)
        numbers = (f"{slope:.1f}", f"{after:.1f}", f"{jump:+.0%}")
        print(table_row((f"{target}, {kind}, {gpu}", batch, listed, *numbers)))


if __name__ == "__main__":
    main()
