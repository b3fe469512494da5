"""`observe`: from a server's counters to a gamma, and what it says where they say nothing."""

import json
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from specplan.main import main
from tests.engines.metrics_pages import LOG, llama_cpp_page, sglang_page, vllm_page
from tests.specplan.metrics_server import server
from tests.specplan.refusals import assert_refused


def observe(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["observe", *arguments])


def test_a_live_server_is_read_and_planned_for() -> None:
    with server(vllm_page(1000, (700, 500, 300))) as url:
        result = observe(url, "--c", "0.05", "--json")
        text = observe(f"{url}/metrics", "--c", "0.05").stdout
    data = json.loads(result.stdout)
    assert data["source"] == {
        "kind": "vllm", "from": "metrics", "version": "0.32.0", "model": "M",
    }  # fmt: skip
    assert (data["gamma"], data["drafts"], data["drafted"], data["accepted"]) == (
        3, 1000, 3000, 1500,
    )  # fmt: skip
    assert [rate["value"] for rate in data["accepted_by_position"]] == [0.7, 0.5, 0.3]
    assert data["conditional"][2]["value"] == pytest.approx(0.6)
    assert data["conditional"][2]["low"] < 0.6 < data["conditional"][2]["high"]
    assert data["block_efficiency"] == 2.5
    assert data["alpha_iid"]["value"] == pytest.approx(1500 / 2200)
    assert data["iid_consistent"] is False
    plan = data["plan"]
    assert plan["acceptance"]["observed_gamma"] == 3
    assert [row["extrapolated"] for row in plan["curve"][:4]] == [False, False, False, True]
    assert f"Draft {plan['gamma_near']} tokens per block" in text
    words = " ".join(text.split())
    assert "vLLM 0.32.0 with M: 1000 drafts, 3000 tokens drafted, 1500 accepted since" in words
    assert "positions differ by more than chance" in words


def test_a_host_and_port_are_taken_for_a_url() -> None:
    with server(vllm_page(1000, (700, 500, 300))) as url:
        assert "1000 drafts" in observe(url.removeprefix("http://")).stdout
    assert "http://localhost:1/metrics" in observe("localhost:1").stderr


def test_an_interval_is_the_difference_of_two_scrapes() -> None:
    with server(vllm_page(1000, (700, 500)), vllm_page(1100, (760, 540))) as url:
        result = observe(url, "--interval", "0.05", "--json")
    data = json.loads(result.stdout)
    assert (data["drafts"], data["accepted"], data["seconds"]) == (100, 100, 0.05)
    assert [rate["value"] for rate in data["accepted_by_position"]] == [0.6, 0.4]


def test_a_saved_scrape_is_subtracted(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text(vllm_page(1000, (700, 500)))
    after.write_text(vllm_page(1100, (760, 540)))
    data = json.loads(observe(str(after), "--since", str(before), "--json").stdout)
    assert (data["drafts"], data["accepted"]) == (100, 100)
    text = observe(str(after), "--since", str(before)).stdout
    assert "100 accepted since the earlier reading" in " ".join(text.split())
    assert "warm-up" in observe(str(after)).stdout


def test_each_source_is_subtracted_from_its_own(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a0", "a1", "b0", "b1")]
    pages = [
        vllm_page(1000, (700, 500), began=1.0), vllm_page(1100, (760, 540), began=1.0),
        vllm_page(10, (5, 1), began=2.0), vllm_page(20, (9, 2), began=2.0),
    ]  # fmt: skip
    for name, page in zip(names, pages, strict=True):
        Path(name).write_text(page)
    a0, a1, b0, b1 = names
    data = json.loads(observe(a1, b1, "--since", a0, "--since", b0, "--json").stdout)
    assert (data["drafts"], data["accepted"]) == (110, 105)


def test_following_prints_a_line_an_interval_and_says_of_restarts() -> None:
    pages = [vllm_page(n, (n // 2, n // 4)) for n in (100, 200, 300)]
    with server(*pages, vllm_page(8, (4, 2)), vllm_page(48, (24, 12))) as url:
        command = [sys.executable, "-m", "specplan", "observe", url, "--follow"]
        process = subprocess.Popen(
            [*command, "--interval", "0.2", "--c", "0.05"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=30)
    assert "100 drafts  1.75 tokens a call  by position 0.500 0.250  alpha_iid 0.50 [" in lines[0]
    assert "advised gamma" in lines[0]
    assert "100 drafts" in lines[1]
    assert "40 drafts" in lines[2]
    assert "no drafts" in lines[3]
    assert process.returncode == 130
    assert "the server was restarted" in printed
    assert printed.endswith("Interrupted.\n")


def test_a_profile_of_it_is_planned_with(tmp_path: Path) -> None:
    profile = tmp_path / "observed.json"
    log = tmp_path / "vllm.log"
    log.write_text(LOG)
    times = ["--target-ms", "19", "--draft-ms", "1.6", "--verify-ms", "4=33"]
    seen = json.loads(observe(str(log), *times, "-o", str(profile), "--json").stdout)
    planned = CliRunner().invoke(main, ["plan", "--profile", str(profile), "--json"])
    plan = json.loads(planned.stdout)
    assert plan["curve"] == seen["plan"]["curve"]
    assert plan["optimal_gamma"] == seen["plan"]["optimal_gamma"]
    assert plan["draft_sampling"] == "argmax"
    stored = json.loads(profile.read_text())
    assert (stored["setup"]["engine"], stored["setup"]["engine_version"]) == ("vllm", "0.32.0")
    again = observe(str(log), "--profile", str(profile), "--json")
    assert json.loads(again.stdout)["plan"]["curve"] == seen["plan"]["curve"]


def test_a_profile_without_positions_holds_those_of_iid(tmp_path: Path) -> None:
    page, profile = tmp_path / "page", tmp_path / "observed.json"
    page.write_text(sglang_page(calls=100, generated=190 + 10, requests=10))
    result = observe(str(page), "-o", str(profile))
    assert "Acceptance by position is not counted there, or not in all" in result.stdout
    assert f"specplan plan --profile {profile} --c C" in result.stdout
    rates = json.loads(profile.read_text())["draftings"]["argmax"]["accepted_by_position"]
    assert sum(rate["value"] for rate in rates) == pytest.approx(0.9)
    costs = ("--target-ms", "10", "--draft-ms", "1", "--json")
    seen = json.loads(observe(str(page), *costs, "-o", str(profile)).stdout)
    planned = CliRunner().invoke(main, ["plan", "--profile", str(profile), "--json"])
    assert json.loads(planned.stdout)["curve"] == seen["plan"]["curve"]


def test_a_profile_of_blocks_that_were_cut_short_says_so(tmp_path: Path) -> None:
    page, profile = tmp_path / "page", tmp_path / "observed.json"
    page.write_text(llama_cpp_page(1000, 3000, (800, 380, 160, 60, 20)))
    asked = [str(page), "--gamma", "5", "--c", "0.05"]
    data = json.loads(observe(*asked, "-o", str(profile), "--json").stdout)
    assert data["cut_short"] == pytest.approx(0.4)
    assert data["alpha_iid_is_lower_bound"] is True
    # 1420 accepted; 980 blocks rejected at most, of which 2000 tokens left out may acquit 620.
    assert data["alpha_iid"]["value"] == pytest.approx(1420 / 2400)
    assert data["alpha_iid"]["high"] > 1420 / 1780
    assert (data["iid_consistent"], data["iid_p_value"]) == (None, None)
    assert data["plan"]["acceptance"]["iid_consistent"] is None
    words = " ".join(observe(*asked).stdout.split())
    assert "alpha_iid at least 0.592 [" in words
    assert "Blocks drafted 40 % fewer tokens than gamma 5" in words
    assert "i.i.d. gamma" not in words
    assert "not i.i.d." not in words
    stored = json.loads(profile.read_text())
    assert stored["draftings"]["argmax"]["cut_short"] == pytest.approx(0.4)
    assert stored["alpha"]["high"] == data["alpha_iid"]["high"]
    plan = CliRunner().invoke(main, ["plan", "--profile", str(profile), "--c", "0.05"]).stdout
    assert "alpha is a lower bound" in " ".join(plan.split())
    assert "not i.i.d.:" not in plan


RESTARTED = [vllm_page(1000, (700, 500)), vllm_page(900, (650, 450))]
# One of two servers restarts, while their sum rises.
ONE_RESTARTED = [vllm_page(1000, (900,), began=1.0), vllm_page(10, (9,), began=2.0)]
RISING = [vllm_page(1000, (100,)), vllm_page(3000, (1000,))]


@pytest.mark.parametrize(
    ("pages", "arguments", "message"),
    [
        ([RESTARTED], "--interval 0.05", "got 1000 drafts, then 900: the server was restarted"),
        ([RISING, ONE_RESTARTED], "--interval 0.05",
         "got 1000 drafts, then 10: the server was restarted"),
        ([[vllm_page(9, (4,))], [vllm_page(9, (4, 2))]], "--follow --interval 0.05",
         "sources must be of one gamma, got 1 and 2"),
        ([[vllm_page(0, (0, 0))]], "",
         "drafts must be at least 1, got 0: no request was decoded in that time"),
        ([["# TYPE vllm:x gauge\nvllm:x 1.0\n"]], "",
         "metrics must have vllm:spec_decode_num_drafts, got none: speculation is off; "
         "--speculative-config turns it on"),
    ],
    ids=["restarted", "one restarted", "gammas", "silent", "off"],
)  # fmt: skip
def test_unusable_counts_of_servers_are_refused_in_one_line(
    pages: list[list[str]], arguments: str, message: str
) -> None:
    with ExitStack() as servers:
        urls = [servers.enter_context(server(*page)) for page in pages]
        assert_refused(observe(*urls, *arguments.split()), message)


def test_a_page_that_a_server_lacks_is_refused() -> None:
    with server("") as url:
        assert_refused(observe(f"{url}/nowhere"), "must answer, got status 404")
