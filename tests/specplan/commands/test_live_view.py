"""`observe --follow`: its page that loads itself again, and its Prometheus metrics."""

import html
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

from engines.sources import readings, total
from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import plan
from simulator.cost.cost import Ratio
from specplan.main import main
from specplan.reports.live import Live
from tests.engines.metrics_pages import vllm_page
from tests.specplan.metrics_server import server

# Drafts and tokens accepted at positions 1 and 2: from the third page on, fewer are.
PAGES = [
    vllm_page(100 * n, (50 * min(n, 2) + 10 * n, 25 * min(n, 2) + 5 * n)) for n in range(1, 80)
]


def test_a_followed_server_has_a_page_and_metrics_of_its_drift(tmp_path: Path) -> None:
    page = tmp_path / "live.html"
    with server(*PAGES) as url:
        words = f"observe {url} --follow --interval 0.2 --c 0.05 --listen 0 --page {page}"
        process = subprocess.Popen(
            [sys.executable, "-m", "specplan", *words.split()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stderr.readline()
        for _ in range(2):
            process.stdout.readline()
        address = re.findall(r"http://127\.0\.0\.1:\d+/metrics", said)[0]
        metrics = urlopen(address).read().decode()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    for line in (
        "specplan_drafts 100.0",
        "specplan_tokens_per_call 1.15",
        "specplan_acceptance_drifted 1.0",
        'specplan_acceptance{position="1"} 0.1',
        f"specplan_acceptance_drift {1.15 / 1.9:.6f}"[:-2],
    ):
        assert line in metrics
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert '<meta http-equiv="refresh" content="1">' in text
    assert "<pre>specplan observe " in text
    assert "Acceptance fell: 1.15 tokens per target call" in text
    assert "Tokens per call since the start" in text


def test_metrics_have_the_advice_and_the_interval_of_the_plan(tmp_path: Path) -> None:
    source = tmp_path / "page"
    source.write_text(PAGES[1])
    observed = total(readings([str(source)], gamma=None))
    row = plan(Iid(0.6), Ratio(0.05))
    live = Live(10)
    data = live.add(observed, row, clock="12:00:00")
    registry = CollectorRegistry()
    registry.register(live)
    text = generate_latest(registry).decode()
    advised = data["plan"]["advised_gamma"]
    factor = data["plan"]["curve"][advised - 1]["improvement_factor"]
    assert advised > 0
    assert f"specplan_advised_gamma {float(advised)}" in text
    assert f"specplan_expected_speed_up {factor}" in text
    assert f"specplan_expected_speed_up_low {factor}" in text
    assert "specplan_acceptance_drifted 0.0" in text
    live.add_none()
    assert "advised" not in generate_latest(registry).decode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--follow --c 0.1 --listen here", "must be PORT or ADDRESS:PORT, got here"),
        ("--follow --c 0.1 --listen 99999", "must be PORT or ADDRESS:PORT, got 99999"),
        ("--listen 9100", "--listen cannot be given with observe"),
        ("--follow --plot a.png", "--plot cannot be given with --follow"),
    ],
)
def test_addresses_and_files_that_do_not_fit_are_refused(words: str, message: str) -> None:
    refused = CliRunner().invoke(main, ["observe", "http://127.0.0.1:1", *words.split()])
    assert refused.exit_code == 2
    assert message in refused.output


def test_a_port_in_use_is_refused_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with server(PAGES[0]) as url:
            words = ["observe", url, "--follow", "--c", "0.1", "--listen", str(port)]
            refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert f"--listen must be free, got 127.0.0.1:{port}" in refused.output


def test_a_page_of_answers_never_shows_their_prompts(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        '{"category": "code", "prompt": "SECRET", "content": "SECRET", "timings": '
        '{"predicted_n": 96, "predicted_ms": 155.1, "draft_n": 175, "draft_n_accepted": 49}}\n'
    )
    page = tmp_path / "page.html"
    words = ["observe", str(answers), "--gamma", "4", "--c", "0.1", "--page", str(page)]
    made = CliRunner().invoke(main, words)
    assert made.exit_code == 0, made.output
    assert "SECRET" not in page.read_text(encoding="utf-8")
