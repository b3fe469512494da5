"""SGLang's metrics page, log and bench: numbers of target passes and of tokens, no positions."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from engines.counting import times
from engines.observing.by_batch import LogInterval, LogTimes
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage, number, timed_bench, whole_number
from simulator.cost.roofline.shapes import named_share

TURNS_ON = "--speculative-algorithm (and --enable-metrics)"
CALLS, GENERATED, REQUESTS = "spec_verify_calls", "generation_tokens", "num_requests"
# A histogram that counts tokens, each request's first left out.
WAITED, EMITTED = "inter_token_latency_seconds_sum", "inter_token_latency_seconds_count"
STEPS, LENGTH = "spec_num_steps", "spec_accept_length"

MARK = "Decode batch"
# A line every decode_log_interval passes. Its mean length includes the target's own token.
_LINE = re.compile(
    r"(?:\bDP(?P<engine>\d+)\b[^\n\]]*\] )?Decode batch[.,] #running-req: (?P<running>\d+), "
    r"(?:(?:[^,\n]*, )*?accept len: (?P<length>[\d.]+), )?(?:[^,\n]*, )*?"
    r"gen throughput \(token/s\): (?P<speed>[\d.]+)"
)
_SETTING = re.compile(r"\b(\w+)=(?:'([^']*)'|([\w.]+))")
_PASSES = 40  # decode_log_interval unless the log states another


def read_page(text: str, gamma: int | None) -> Observation:
    """Returns the counts on a metrics page since the server's start.

    The first token of each request comes from the pass over its prompt and is not counted.

    gamma: drafted tokens per block, if the page does not state them; 0: no drafts.
    """
    page = MetricsPage(text, "sglang:")
    totals, timed = page.sums, times(page.sums[WAITED], page.sums[EMITTED])
    plain = Observation(kind="sglang", origin="metrics", timed=timed)
    if gamma == 0 and CALLS not in totals:
        return plain
    if CALLS not in totals:
        length = page.last.get(LENGTH, 0.0)
        hint = (
            f"only its last block efficiency is known: plan --block-efficiency {length:g} "
            "--at-gamma G"
            if length > 0
            else f"speculation is off; {TURNS_ON} turns it on"
        )
        raise ValueError(f"metrics must have sglang:{CALLS}_total, got none: {hint}")
    calls = round(totals[CALLS])
    steps = round(page.last[STEPS]) if STEPS in page.last else gamma
    if steps is None:
        raise ValueError("`gamma` must be given where a page lacks sglang:spec_num_steps, got none")
    accepted = round(totals[GENERATED] - totals[REQUESTS]) - calls
    return replace(_counted(plain, steps, calls, accepted), model=page.model)


def read_log(blocks: Iterable[str], gamma: int | None) -> Observation:
    """Returns the counts and times of a log's lines on decoded batches.

    A line states neither passes nor tokens: it stands for as many passes as SGLang logs at once.

    blocks: the log in blocks of whole lines.
    gamma: drafted tokens per block, if the log does not state them; 0: no drafts.
    """
    settings, lines = dict[str, str](), list[LogInterval]()
    for block in blocks:
        if "server_args=" in block:
            stated = block[block.index("server_args=") :].partition("\n")[0]
            settings = {name: text or bare for name, text, bare in _SETTING.findall(stated)}
        for match in _LINE.finditer(block):
            length = None if match["length"] is None else float(match["length"])
            speed = float(match["speed"])
            lines.append(LogInterval(match["engine"] or "", int(match["running"]), speed, length))
    plain = Observation(
        kind="sglang",
        origin="log",
        model=settings.get("model_path"),
        timed=LogTimes.of(lines),
        draft_share=named_share(
            settings.get("model_path"), settings.get("speculative_draft_model_path")
        ),
    )
    drafted = [(line.running, line.length) for line in lines if line.length is not None]
    if gamma == 0 and not drafted:
        return plain
    if not drafted:
        raise ValueError(
            f"a log of SGLang must have lines '{MARK} … accept len: …', got {len(lines)} without "
            f"accept len: speculation is off; {TURNS_ON} turns it on"
        )
    steps = _steps(settings, gamma)
    passes = int(settings.get("decode_log_interval", _PASSES))
    drafts = passes * sum(running for running, _ in drafted)
    accepted = passes * sum(running * (length - 1) for running, length in drafted)
    trees = settings.get("speculative_eagle_topk", "1") not in ("1", "None")
    notes = ("SGLang drafted trees: these lengths hold for its trees, not for chains.",) * trees
    return replace(_counted(plain, steps, drafts, round(accepted)), notes=notes)


def _steps(settings: Mapping[str, str], gamma: int | None) -> int:
    """Returns the drafted tokens per block; a block drafter also counts the token before them."""
    steps, block = (
        int(settings.get(f"speculative_num_{name}", "").replace("None", "") or 0)
        for name in ("steps", "draft_tokens")
    )
    stated = steps if steps > 0 else block - 1
    if gamma is None and stated < 1:
        raise ValueError("`gamma` must be given where a log lacks speculative_num_steps, got none")
    return stated if gamma is None else gamma


def read_bench(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts in a line of `sglang.bench_serving --output-file`.

    Counts follow from the number of tokens and the server's mean accepted length.

    gamma: drafted tokens per block, if the result does not state them; 0: no drafts.
    """
    plain = Observation(kind="sglang", origin="bench", timed=timed_bench(result))
    length = number(result, "accept_length")
    if gamma == 0 and length == 0:
        return plain
    if length < 1:
        raise ValueError(
            f"accept_length must be at least 1, got {length:g}: speculation is off; {TURNS_ON} "
            "turns it on"
        )
    server = result.get("server_info")
    steps = server.get("speculative_num_steps") if isinstance(server, Mapping) else None
    steps = gamma if steps is None else steps
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"`gamma` must be given as at least 1 with accept_length, got {steps}")
    if length > steps + 1:
        raise ValueError(f"accept_length must be at most {steps + 1}, gamma + 1, got {length:g}")
    tokens = whole_number(result, "total_output_tokens") - whole_number(result, "completed")
    drafts = round(tokens / length)
    return _counted(plain, steps, drafts, tokens - drafts)


def _counted(plain: Observation, gamma: int, drafts: int, accepted: int) -> Observation:
    drafted = drafts * gamma
    return replace(plain, stated_gamma=gamma, drafts=drafts, drafted=drafted, accepted=accepted)
