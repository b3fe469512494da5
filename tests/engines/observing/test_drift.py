"""Drift is found where the interval excludes what was expected, and seldom where nothing moved."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from engines.observing.drift import Expected, drift, read_expected
from engines.observing.observation import Observation
from specplan.main import main
from tests.engines.metrics_pages import vllm_answer, vllm_page

RATES = (0.8, 0.6, 0.4)


def observed(drafts: int, hits: tuple[int, ...]) -> Observation:
    drafted = drafts * len(hits)
    return Observation(
        kind="vllm", origin="metrics", stated_gamma=len(hits), drafts=drafts, drafted=drafted,
        accepted=sum(hits), by_position=hits,
    )  # fmt: skip


def test_the_fall_of_a_public_server_is_found() -> None:
    """A length of 3.33 fell to 1.90 in two hours (SGLang issue 28771)."""
    found = drift(observed(2000, (900, 600, 300, 0, 0)), Expected({0: 3.33}))
    assert found.found
    assert found.high < 2 < found.expected


def test_few_alarms_are_false_and_few_falls_are_missed() -> None:
    """Blocks of one text are alike, so the interval is wider than independent blocks need."""
    generator = np.random.default_rng(1)
    chain = np.array(RATES) / np.array((1, *RATES[:-1]))
    alarms = {1.0: 0, 0.9: 0}
    for scale in alarms:
        for _ in range(200):
            hits = np.cumprod(generator.random((1500, 3)) < scale * chain, axis=1).sum(axis=0)
            seen = observed(1500, tuple(hits.tolist()))
            alarms[scale] += drift(seen, Expected({}, RATES)).found
    assert alarms[1.0] <= 0.1 * 200
    assert alarms[0.9] >= 0.95 * 200


def test_an_expectation_of_few_drafts_is_in_doubt_itself() -> None:
    seen = observed(1000, (700, 500, 330))
    exact, measured = (drift(seen, Expected({}, RATES, drafts)) for drafts in (None, 60))
    assert exact.found
    assert not measured.found
    assert measured.high - measured.low > exact.high - exact.low


def test_positions_that_moved_are_named() -> None:
    found = drift(observed(1000, (800, 600, 200)), Expected({}, RATES))
    assert [each.name for each in found.moved] == ["position 3"]


def test_a_category_that_moved_is_named(saved) -> None:
    def answers(good: int) -> str:
        taken = {"code": [3] * good + [0] * (60 - good), "chat": [1] * 60}
        found = [
            vllm_answer(each, [3] * 60, 3, detailed=False) | {"category": name}
            for name, each in taken.items()
        ]
        return "\n".join(map(json.dumps, found))

    (chat, code) = 2.0, 1 + 3 * 50 / 60
    expected = Expected({3: (chat + code) / 2}, categories={"code": code, "chat": chat})
    found = drift(saved(answers(good=10)), expected)
    assert [each.name for each in found.moved] == ["category code"]


def test_every_file_states_the_expected_length(tmp_path: Path) -> None:
    page, profile = tmp_path / "page", tmp_path / "profile.json"
    page.write_text(vllm_page(1000, (800, 600, 400)))
    run = CliRunner().invoke
    earlier = run(main, ["observe", str(page), "--c", "0.05", "-o", str(profile), "--json"])
    seen = read_expected("", earlier.stdout)
    assert (seen.lengths, seen.rates, seen.drafts) == ({3: 2.8}, RATES, 1000)
    from_profile = read_expected("", profile.read_text())
    assert (from_profile.rates, from_profile.drafts) == (RATES, 1000)
    plan = run(main, ["plan", "--alpha", "0.8", "--c", "0.05", "--json"]).stdout
    assert read_expected("", plan).at(3) == pytest.approx(1 + 0.8 + 0.64 + 0.512)


def test_the_exit_status_says_that_it_drifted(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_text(vllm_page(1000, (800, 600, 400)))
    words = ["observe", str(page), "--c", "0.05", "--expect"]
    same, other = (CliRunner().invoke(main, [*words, f"length={each}"]) for each in (2.8, 3.4))
    assert (same.exit_code, other.exit_code) == (0, 3)
    assert same.stdout.startswith("Acceptance is as expected: 2.80 tokens per target call")
    assert other.stdout.startswith("Acceptance fell: 2.80 tokens per target call")
    data = json.loads(CliRunner().invoke(main, [*words, "length=3.4", "--json"]).stdout)
    assert data["drift"]["found"]
    assert data["drift"]["best_gamma"] == data["plan"]["advised_gamma"]


@pytest.mark.parametrize(
    ("text", "document", "message"),
    [
        ("length=0.5", None, r"must be length=L \(at least 1\), rates=R/R/\.\.\. or a file"),
        ("rates=80/60", None, r"must be length=L .*, got 'rates=80/60'"),
        ("2.85", None, r"must be length=L .*, got '2\.85'"),
        ("x", "{}", "must be a profile, or the JSON of plan or observe, got another file"),
    ],
)
def test_other_expectations_are_refused(text: str, document: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_expected(text, document)


def test_a_gamma_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        ValueError, match="`expect` must know a length at gamma 5, got gamma 1 to 3"
    ):
        drift(observed(10, (5, 4, 3, 2, 1)), Expected({}, RATES))


def test_a_length_that_no_block_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must state a length of at most 4, gamma \+ 1, got 4\.5"):
        drift(observed(10, (5, 4, 3)), Expected({0: 4.5}))
