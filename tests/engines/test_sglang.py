"""SGLang's driver against a program that takes SGLang's flags and answers as its server does."""

import shlex
import sys
from pathlib import Path

import pytest

from engines.counting import Counts
from engines.engine import Setting
from engines.kind import EngineSettings
from engines.servers.sglang import Sglang, counts_of
from engines.tuning.request import TuneEngine, Tuning
from engines.tuning.tune import tune
from estimator.settings import PromptSettings, TimingSettings

MADE = (sys.executable, str(Path(__file__).parent / "made_sglang.py"))
PROMPT = (5, 6, 7)


def sglang(*flags: str) -> Sglang:
    return Sglang("T", "D", (*MADE, *flags))


def test_blocks_are_counted_by_position() -> None:
    with sglang().serve(Setting(3)) as server:
        text = server.complete(PROMPT, max_new_tokens=9, temperature=0.0, seed=0)
        counts = server.counts()
    assert (len(text.tokens), text.first) == (9, 1)
    assert text.seconds > 0
    # Blocks accept 3, 0 and 3 tokens.
    assert counts == Counts(3, 9, 6, (2, 2, 2))
    assert server.version == "0.5-made"


def test_earlier_releases_count_under_other_names() -> None:
    with sglang("--made-old-keys").serve(Setting(2)) as server:
        server.complete(PROMPT, max_new_tokens=4, temperature=0.0, seed=0)
        assert server.counts() == Counts(1, 2, 2, (1, 1))


def test_without_speculation_nothing_is_counted() -> None:
    with sglang().serve(Setting(0)) as server:
        server.complete(PROMPT, max_new_tokens=4, temperature=0.0, seed=0)
        assert server.counts() == Counts()
    with pytest.raises(ValueError, match=r"must count drafts, got none: speculation is off"):
        counts_of({"completion_tokens": 4})


def test_simulated_acceptance_is_one_length_for_all_positions() -> None:
    with sglang().serve(Setting(3, synthetic=(1.0, 1.0, 0.0))) as server:
        server.complete(PROMPT, max_new_tokens=10, temperature=0.0, seed=0)
        assert server.counts().by_position == (3, 3, 0)


def test_a_flag_that_the_server_does_not_take_is_named_by_its_own_words() -> None:
    with (
        pytest.raises(ValueError, match=r"sglang must start.*unrecognized arguments: --unknown"),
        sglang("--unknown").serve(Setting(0)),
    ):
        pass


def tuning(*flags: str) -> TuneEngine:
    how = Tuning(
        text=PromptSettings(num_prompts=2, prompt_tokens=8, max_new_tokens=24),
        timing=TimingSettings(repeats=1),
        max_gamma=4,
        max_runs=2,
    )
    settings = EngineSettings("sglang", engine_command=shlex.join((*MADE, *flags)))
    return TuneEngine(
        engine=settings, text=how.text, timing=how.timing, seed=0, target="embedded",
        drafts=("embedded",), how=how,
    )  # fmt: skip


def test_a_tuning_starts_a_server_for_each_gamma() -> None:
    found = tune(tuning())
    assert [row.gamma for row in found.rows][:2] == [0, 3]
    assert found.rows[-1].gamma == 0
    assert not found.together
    assert found.advised[0].gamma > 0
    assert f"--speculative-num-draft-tokens {found.advised[0].gamma + 1}" in found.flags


def test_a_tuning_names_a_gamma_that_sglang_does_not_draft() -> None:
    found = tune(tuning("--made-longest", "2"))
    assert "gamma 3 was not obeyed: the server drafts 2.0 tokens a block" in found.rows[1].note
    assert found.advised[0].gamma <= 2
