"""Metrics pages, logs and JSON of servers are all read into the same counts."""

from pathlib import Path

import pytest
from metrics_pages import (
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

from engines.observing.observation import Observation
from engines.observing.printed import Timed
from engines.sources import observe


@pytest.fixture
def saved(tmp_path: Path):
    """Returns what writes a text into a file and observes it."""

    def write(*texts: str, gamma: int | None = None) -> Observation:
        paths = []
        for number, text in enumerate(texts):
            paths.append(tmp_path / f"{number}.txt")
            paths[-1].write_text(text, encoding="utf-8")
        return observe([str(path) for path in paths], gamma=gamma)

    return write


def test_vllms_page_sums_its_engines(saved) -> None:
    pages = vllm_page(100, (60, 30, 10)) + vllm_page(50, (20, 10, 0), engine=1)
    found = saved(pages)
    assert (found.kind, found.gamma, found.model) == ("vllm", 3, "M")
    assert (found.drafts, found.drafted, found.hits) == (150, 450, (80, 40, 10))


@pytest.mark.parametrize("name", ["inter_token_latency", "time_per_output_token"])
def test_vllms_page_times_the_tokens_after_each_requests_first(saved, name: str) -> None:
    times = vllm_times(seconds=2.0, emitted=205, requests=5)
    times = times.replace("inter_token_latency", name)
    page = vllm_page(100, (60, 30, 10)) + times
    assert saved(page).timed == Timed(2.0, 200)
    assert saved(page, page).timed == Timed(4.0, 400)
    assert saved(page, vllm_page(100, (60, 30, 10))).timed is None
    assert saved(times, gamma=0).timed == Timed(2.0, 200)


def test_sglangs_page_times_tokens_by_its_own_histogram(saved) -> None:
    page = sglang_page(calls=100, generated=290, requests=10)
    times = sglang_times(seconds=1.4, tokens=280)
    assert saved(page + times).timed == Timed(1.4, 280)
    assert saved(page).timed is None
    assert saved(times, gamma=0).timed == Timed(1.4, 280)


def test_llama_cpps_page_times_all_tokens(saved) -> None:
    times = llama_cpp_times(seconds=2.0, tokens=400)
    assert saved(llama_cpp_page(100, 390, (60, 30)) + times).timed == Timed(2.0, 400)
    assert saved(times, gamma=0).timed == Timed(2.0, 400)


def test_llama_cpps_page_may_lack_late_positions(saved) -> None:
    found = saved(llama_cpp_page(100, 390, (60, 30)))
    assert (found.kind, found.gamma, found.hits) == ("llama.cpp", 4, (60, 30, 0, 0))
    assert found.cut_short == pytest.approx(0.025)
    assert saved(llama_cpp_page(100, 390, (60, 30)), gamma=5).hits == (60, 30, 0, 0, 0)


def test_sglangs_page_gives_totals(saved) -> None:
    # 10 requests, whose first tokens are the prompts'; 100 passes that emitted 190 tokens.
    found = saved(sglang_page(calls=100, generated=200, requests=10))
    assert (found.kind, found.gamma, found.drafts, found.drafted) == ("sglang", 3, 100, 300)
    assert found.accepted == 90
    assert found.block_efficiency == 1.9
    assert found.unconditional == ()
    unsaid = sglang_page(calls=100, generated=200, requests=10, steps=None)
    assert saved(unsaid, gamma=4).gamma == 4


def test_lines_of_vllms_log_are_summed(saved) -> None:
    found = saved(LOG)
    assert (found.kind, found.origin, found.version) == ("vllm", "log", "0.32.0")
    assert (found.drafts, found.drafted, found.accepted) == (150, 450, 125)
    assert found.hits == (80, 35, 10)


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


def test_a_logs_blocks_that_draft_fewer_than_gamma_are_counted(saved) -> None:
    # 100 drafts by lookup, of 3 tokens on average: not 60 of 5 each.
    found = saved(log_line(100, 300, (60, 40, 25, 15, 10)))
    assert (found.gamma, found.drafts, found.drafted, found.accepted) == (5, 100, 300, 150)
    assert found.hits == (60, 40, 25, 15, 10)
    assert found.block_efficiency == 2.5


def test_a_logs_drafts_are_exact_where_every_block_may_have_drafted_gamma(saved) -> None:
    # Two of three rates are rounded up: accepted over their sum would be 2993.
    found = saved(log_line(2998, 3 * 2998, (1000, 301, 118)))
    assert (found.drafts, found.drafted) == (2998, 3 * 2998)


@pytest.mark.parametrize(
    ("counts", "drafts"),
    [
        ((50, 150, (0, 0, 0)), 50),
        # A rate of 0.003, of blocks that drafted one token each.
        ((390, 390, (1, 0, 0)), 333),
        # A rate of 0.000 is less than half a thousandth, thrice.
        ((2001, 2003, (1, 1, 1)), 2000),
    ],
)
def test_a_logs_drafts_of_hardly_any_accepted_are_as_its_rates_allow(
    saved, counts: tuple[int, int, tuple[int, ...]], drafts: int
) -> None:
    assert saved(log_line(*counts)).drafts == drafts


def test_a_log_with_rates_of_two_digits_is_read(saved) -> None:
    line = log_line(200, 600, (164, 122, 84))
    found = saved(line.replace("0.820, 0.610, 0.420", "0.82, 0.61, 0.42"))
    assert (found.drafts, found.gamma, found.hits) == (200, 3, (164, 122, 84))


def test_a_result_of_vllm_bench_serve_is_read(saved) -> None:
    found = saved(BENCH)
    assert (found.origin, found.model, found.gamma) == ("bench", "M", 3)
    assert (found.drafts, found.accepted, found.hits) == (200, 200, (120, 60, 20))
    assert found.timed == Timed(2.0, 400, batch=4)


def test_a_result_of_sglangs_bench_is_read(saved) -> None:
    found = saved(SGLANG_BENCH, gamma=3)
    # 400 tokens after the prompts', 2.5 a block.
    assert (found.kind, found.origin, found.gamma) == ("sglang", "bench", 3)
    assert (found.drafts, found.drafted, found.accepted) == (160, 480, 240)
    assert found.timed == Timed(1.6, 400, batch=4)
    told = SGLANG_BENCH.replace("}", ', "server_info": {"speculative_num_steps": 4}}')
    assert saved(told).gamma == 4


def test_a_bench_that_has_no_mean_is_timed_by_its_median(saved) -> None:
    found = saved(BENCH.replace('"mean_tpot_ms": 5.0', '"mean_tpot_ms": null'))
    assert found.timed is not None
    assert found.timed.seconds_per_token == pytest.approx(4.8e-3)
    assert saved(BENCH.replace("_tpot_", "_ttft_")).timed is None


def test_times_of_several_sources_are_weighted_by_their_tokens(saved) -> None:
    slower = BENCH.replace('"mean_tpot_ms": 5.0', '"mean_tpot_ms": 9.0').replace("408", "1208")
    both = saved(BENCH, slower).timed
    assert both is not None
    assert both.seconds_per_token == pytest.approx((400 * 5e-3 + 1200 * 9e-3) / 1600)


def test_llama_cpps_timings_are_summed_over_lines(saved) -> None:
    answer = ANSWER.replace("\n", "")
    found = saved(f"{answer}\n{answer}\n")
    # 64 tokens after the prompt's, 34 of them drafted: 30 passes.
    assert (found.origin, found.drafts, found.drafted, found.accepted) == ("timings", 60, 180, 68)
    assert found.gamma == 3
    # The time of an answer begins at its first token.
    assert found.timed == Timed(0.64, 128, batch=1)


def test_several_files_are_summed(saved) -> None:
    both = saved(vllm_page(100, (60, 30)), vllm_page(50, (20, 10)))
    assert (both.drafts, both.hits) == (150, (80, 40))


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
            "gamma must be given where a page lacks sglang:spec_num_steps, got none",
        ),
        ("<html>not found</html>", "must be a metrics page of llama.cpp, SGLang or vLLM"),
        ("SpecDecoding metrics: Mean", "a line of vLLM's log must have accepted and drafted"),
        (
            # A digit is left of the last rate.
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
        ("{", "JSON of drafts must be JSON or a JSON object a line, got: "),
        ("[1]", "JSON of drafts must be JSON objects, got int"),
        (
            BENCH.replace("spec_decode", "decode"),
            "vllm bench serve must report spec_decode_num_drafts, got none: speculation is off",
        ),
        (BENCH.replace("5.0", '"5"'), "mean_tpot_ms must be a number of at least 0, got '5'"),
        (
            SGLANG_BENCH,
            "gamma must be given as at least 1 with accept_length, got None",
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
