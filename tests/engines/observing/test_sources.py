"""Metrics pages, logs and JSON of servers are all read into the same counts."""

from typing import Any

import pytest

from engines.counting import Timed
from tests.engines.metrics_pages import (
    ANSWER,
    BENCH,
    LOG,
    SGLANG_BENCH,
    llama_cpp_page,
    llama_cpp_times,
    sglang_page,
    sglang_times,
    vllm_page,
    vllm_times,
)


def log_line(drafts: int, drafted: int, by_position: tuple[int, ...]) -> str:
    """Returns vLLM's line (`SpecDecodingLogging.log`) of these counts."""
    accepted = sum(by_position)
    rates = ", ".join(f"{hits / drafts:.3f}" for hits in by_position)
    return (
        f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, Accepted "
        f"throughput: 1.00 tokens/s, Drafted throughput: 2.00 tokens/s, Accepted: {accepted} "
        f"tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, Avg Draft "
        f"acceptance rate: {100 * accepted / drafted:.1f}%\n"
    )


VLLM, SGLANG = vllm_page(100, (60, 30, 10)), sglang_page(calls=100, generated=200, requests=10)
LLAMA_CPP = llama_cpp_page(100, 390, (60, 30))
UNSAID = sglang_page(calls=100, generated=200, requests=10, steps=None)
VLLM_TIMES = vllm_times(seconds=2.0, emitted=205, requests=5)
OLD_TIMES = VLLM_TIMES.replace("inter_token_latency", "time_per_output_token")
SGLANG_TIMES = sglang_times(seconds=1.4, tokens=280)
LLAMA_CPP_TIMES = llama_cpp_times(seconds=2.0, tokens=400)
SLOWER = BENCH.replace('"mean_tpot_ms": 5.0', '"mean_tpot_ms": 9.0').replace("408", "1208")
LINE = ANSWER.replace("\n", "")


@pytest.mark.parametrize(
    ("texts", "gamma", "read"),
    [
        # vLLM's page sums its engines.
        ([VLLM + vllm_page(50, (20, 10, 0), engine=1)], None,
         {"kind": "vllm", "gamma": 3, "model": "M", "drafts": 150, "drafted": 450,
          "hits": (80, 40, 10)}),
        ([vllm_page(100, (60, 30)), vllm_page(50, (20, 10))], None,
         {"drafts": 150, "hits": (80, 40)}),
        # It times the tokens after each request's first, under either name.
        *(([*texts], gamma, {"timed": timed}) for times in (VLLM_TIMES, OLD_TIMES)
          for texts, gamma, timed in (
              ((VLLM + times,), None, Timed(2.0, 200)),
              ((VLLM + times,) * 2, None, Timed(4.0, 400)),
              ((VLLM + times, VLLM), None, None),
              ((times,), 0, Timed(2.0, 200)))),
        # SGLang's page times tokens by its own histogram, llama.cpp's all tokens.
        ([SGLANG + SGLANG_TIMES], None, {"timed": Timed(1.4, 280)}),
        ([SGLANG_TIMES], 0, {"timed": Timed(1.4, 280)}),
        ([LLAMA_CPP + LLAMA_CPP_TIMES], None, {"timed": Timed(2.0, 400)}),
        ([LLAMA_CPP_TIMES], 0, {"timed": Timed(2.0, 400)}),
        # llama.cpp's page may lack late positions.
        ([LLAMA_CPP], None, {"kind": "llama.cpp", "gamma": 4, "hits": (60, 30, 0, 0),
                             "cut_short": pytest.approx(0.025)}),
        ([LLAMA_CPP], 5, {"hits": (60, 30, 0, 0, 0)}),
        # 10 requests, whose first tokens are the prompts'; 100 passes that emitted 190 tokens.
        ([SGLANG], None, {"kind": "sglang", "gamma": 3, "drafts": 100, "drafted": 300,
                          "accepted": 90, "block_efficiency": 1.9, "unconditional": (),
                          "timed": None}),
        ([UNSAID], 4, {"gamma": 4}),
        ([LOG], None, {"kind": "vllm", "origin": "log", "version": "0.32.0", "drafts": 150,
                       "drafted": 450, "accepted": 125, "hits": (80, 35, 10)}),
        # 100 drafts by lookup, of 3 tokens on average: not 60 of 5 each.
        ([log_line(100, 300, (60, 40, 25, 15, 10))], None,
         {"gamma": 5, "drafts": 100, "drafted": 300, "accepted": 150,
          "hits": (60, 40, 25, 15, 10), "block_efficiency": 2.5}),
        # Two of three rates are rounded up: accepted over their sum would be 2993.
        ([log_line(2998, 3 * 2998, (1000, 301, 118))], None,
         {"drafts": 2998, "drafted": 3 * 2998}),
        ([log_line(50, 150, (0, 0, 0))], None, {"drafts": 50}),
        # A rate of 0.003, of blocks that drafted one token each.
        ([log_line(390, 390, (1, 0, 0))], None, {"drafts": 333}),
        # A rate of 0.000 is less than half a thousandth, thrice.
        ([log_line(2001, 2003, (1, 1, 1))], None, {"drafts": 2000}),
        # Rates of two digits.
        ([log_line(200, 600, (164, 122, 84)).replace("0.820, 0.610, 0.420", "0.82, 0.61, 0.42")],
         None, {"drafts": 200, "gamma": 3, "hits": (164, 122, 84)}),
        ([BENCH], None, {"origin": "bench", "model": "M", "gamma": 3, "drafts": 200,
                         "accepted": 200, "hits": (120, 60, 20), "timed": Timed(2.0, 400, 4)}),
        # A bench that has no mean is timed by its median; times are weighted by tokens.
        ([BENCH.replace('"mean_tpot_ms": 5.0', '"mean_tpot_ms": null')], None,
         {"timed": Timed(pytest.approx(400 * 4.8e-3), 400, 4)}),
        ([BENCH.replace("_tpot_", "_ttft_")], None, {"timed": None}),
        ([BENCH, SLOWER], None, {"timed": Timed(pytest.approx(2.0 + 1200 * 9e-3), 1600, 4)}),
        # 400 tokens after the prompts', 2.5 a block.
        ([SGLANG_BENCH], 3, {"kind": "sglang", "origin": "bench", "gamma": 3, "drafts": 160,
                             "drafted": 480, "accepted": 240, "timed": Timed(1.6, 400, 4)}),
        ([SGLANG_BENCH.replace("}", ', "server_info": {"speculative_num_steps": 4}}')], None,
         {"gamma": 4}),
        # 64 tokens after the prompt's, 34 of them drafted: 30 passes; timed from the first token.
        ([f"{LINE}\n{LINE}\n"], None, {"origin": "timings", "drafts": 60, "drafted": 180,
                                      "accepted": 68, "gamma": 3, "timed": Timed(0.64, 128, 1)}),
    ],
)  # fmt: skip
def test_counts_and_times_are_read(
    saved, texts: list[str], gamma: int | None, read: dict[str, Any]
) -> None:
    found = saved(*texts, gamma=gamma)
    assert {name: getattr(found, name) for name in read} == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0.0\n",
            "metrics must have vllm:spec_decode_num_drafts, got none: speculation is off; "
            "--speculative-config turns it on",
        ),
        (
            "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 5\n",
            r"metrics must have llamacpp:spec_decode_num_drafts, got none: speculation is off; a "
            r"draft model \(--model-draft, with --spec-type draft-simple\) turns it on",
        ),
        (
            "# TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total 5\n",
            "metrics must have sglang:spec_verify_calls_total, got none: speculation is off; "
            "--speculative-algorithm",
        ),
        (
            "# TYPE sglang:spec_accept_length gauge\nsglang:spec_accept_length 2.8\n",
            "only its last block efficiency is known: plan --block-efficiency 2.8 --at-gamma G",
        ),
        (
            sglang_page(calls=9, generated=20, requests=1, steps=None),
            "`gamma` must be given where a page lacks sglang:spec_num_steps, got none",
        ),
        (
            "<html>not found</html>",
            "must be a metrics page of llama.cpp, SGLang, TensorRT-LLM or vLLM",
        ),
        ("SpecDecoding metrics: Mean", "a line of vLLM's log must have accepted and drafted"),
        (  # A digit is left of the last rate.
            LOG[: LOG.rindex("0.000, Avg") + 1],
            r"rates by position to its end, got line 4 ending in '.*0\.100, 0': where it was cut "
            "short or wrapped, leave it out or save the log again",
        ),
        (
            LOG + LOG.replace(", 0.100, Avg", ", Avg").replace(", 0.000, Avg", ", Avg"),
            "sources must be of one gamma, got 3 and 2",
        ),
        ('{"timings": {"predicted_n": 5}}', "timings must have draft_n, got none: speculation is"),
        ('{"error": 1}', "must have timings .* spec_decode_num_drafts .* or metrics .*, got error"),
        (
            "{",
            "JSON of drafts must be JSON or a JSON object a line, got JSON ",
        ),
        ("[1]", "JSON of drafts must be JSON objects, got int"),
        (
            BENCH.replace("spec_decode", "decode"),
            "vllm bench serve must report spec_decode_num_drafts, got none: speculation is off",
        ),
        (BENCH.replace("5.0", '"5"'), "mean_tpot_ms must be a number of at least 0, got '5'"),
        (
            SGLANG_BENCH,
            "`gamma` must be given as at least 1 with accept_length, got None",
        ),
        (
            SGLANG_BENCH.replace("2.5", "null"),
            "accept_length must be at least 1, got 0: speculation is off; --speculative-algorithm",
        ),
        (
            f"[{BENCH}, {BENCH.replace(': 4,', ': 8,')}]",
            "sources must be of one batch, got 4 and 8",
        ),
        (
            BENCH.replace("200,", '"many",', 1),
            "spec_decode_num_drafts must be a whole number of at least 0, got 'many'",
        ),
        (
            BENCH.replace("[0.6, 0.3, 0.1]", "[]"),
            "vllm bench serve must report spec_decode_per_position_acceptance_rates, got",
        ),
    ],
)
def test_refuses_a_text_by_name(saved, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"0\.txt: .*{message}"):
        saved(text)
