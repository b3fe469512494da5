"""A server that runs already is measured as it runs, or by request where it obeys requests."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from engines.engine import Setting
from engines.servers.llama_cpp import LlamaCpp
from engines.tuning.request import TuneServer, Tuning
from engines.tuning.tune import tune
from estimator.settings import PromptSettings, TimingSettings
from tests.engines.web_server import web_server


class MadeServer:
    """Answers as llama.cpp does: steps of 1 ms and 0.1 ms a drafted token, three of four accepted.

    obeys: whether a request's own number of drafted tokens counts; most: the server's.
    fails_after: texts after which it refuses.
    """

    def __init__(self, *, most: int, obeys: bool, fails_after: int = 10**6, p_min: bool = False):
        self.most, self.obeys, self.fails_after, self.p_min = most, obeys, fails_after, p_min
        self.texts = 0

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body.get("speculative.n_max", self.most)
        gamma = min(asked, self.most) if self.obeys else self.most
        room, drafted, accepted, ms, at, steps = body["n_predict"] - 1, 0, 0, 0.0, 0, 0
        while room > 0:
            length = min(gamma, room - 1)
            steps += 1
            length = min(length, 2) if self.p_min and steps % 3 else length
            stood = 0
            while stood < length and (at := at + 1) % 4:
                stood += 1
            drafted, accepted, room = drafted + length, accepted + stood, room - stood - 1
            ms += 1 + 0.1 * length
        draft = {"draft_n": drafted, "draft_n_accepted": accepted} if gamma else {}
        return {
            "tokens": [1] * body["n_predict"],
            "tokens_evaluated": len(body["prompt"]),
            "timings": {
                "prompt_ms": 1.0, "predicted_ms": ms, "predicted_n": body["n_predict"], **draft,
            },
        }  # fmt: skip


def serving(made: MadeServer) -> AbstractContextManager[str]:
    """Serves a made server, and gives its URL."""

    def answer(path: str, body: dict[str, Any]) -> tuple[int, str]:
        if path == "/tokenize":
            return 200, json.dumps({"tokens": list(body["content"].encode()[:64])})
        made.texts += 1
        if made.texts > made.fails_after:
            return 500, json.dumps({"error": "out of memory"})
        return 200, json.dumps(made.completion(body))

    return web_server({"/health": "{}", "/props": json.dumps({"build_info": "b1"})}, answer)


def request(url: str, tmp_path: Path, *, tokens: int = 200, **settings: Any) -> TuneServer:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one prompt\nanother one\na third\n")
    how = Tuning(
        text=PromptSettings(prompts=str(prompts), max_new_tokens=tokens),
        timing=TimingSettings(repeats=1),
        output=tmp_path / "tuned.json",
        **settings,
    )
    return TuneServer(how=how, server=url)


def test_a_server_that_obeys_requests_is_searched_without_a_restart(tmp_path: Path) -> None:
    with serving(MadeServer(most=6, obeys=True)) as url:
        found = tune(request(url, tmp_path))
    assert found.together
    assert found.rows[0].gamma == 0
    assert found.advised[0].gamma in (3, 4, 5, 6)
    assert all(row.gamma <= 6 or row.note for row in found.rows)


def test_a_server_of_its_own_gamma_is_restarted_until_nothing_is_worth_a_run(
    tmp_path: Path,
) -> None:
    restarts, gamma = 0, 3
    while gamma is not None:
        with serving(MadeServer(most=gamma, obeys=False)) as url:
            found = tune(request(url, tmp_path))
        assert found.rows[-1].gamma == gamma
        if found.next_gamma is not None:
            assert f"Restart the server with gamma {found.next_gamma}" in found.notes[0]
        restarts, gamma = restarts + 1, found.next_gamma
    assert 2 <= restarts <= 6
    assert {row.gamma for row in found.rows} > {0, 3}
    assert found.flags.startswith("--spec-type draft-simple")


def test_a_server_whose_drafts_vary_in_length_is_refused_by_name(tmp_path: Path) -> None:
    served = serving(MadeServer(most=6, obeys=False, p_min=True))
    with (
        served as url,
        pytest.raises(ValueError, match=r"--spec-draft-p-min 0\), got \d\.\d of \d"),
    ):
        tune(request(url, tmp_path))


def test_a_server_that_fails_half_way_leaves_the_runs_before(tmp_path: Path) -> None:
    with (
        serving(MadeServer(most=6, obeys=True, fails_after=14)) as url,
        pytest.raises(ValueError, match=r"must answer, got status 500: .*out of memory"),
    ):
        tune(request(url, tmp_path))
    assert json.loads((tmp_path / "tuned.json").read_text())["rows"][0]["gamma"] == 0


def test_a_server_that_is_down_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"no server answers at http://"):
        tune(request("http://127.0.0.1:9", tmp_path))


def test_a_server_of_another_kind_is_refused(tmp_path: Path) -> None:
    with serving(MadeServer(most=3, obeys=True)) as url:
        asked = request(url, tmp_path)
        with pytest.raises(ValueError, match=r"must be llama\.cpp or vllm, got none of their"):
            tune(TuneServer(how=asked.how, server=url, engine="vllm"))
        with pytest.raises(ValueError, match=r"must be llama\.cpp or vllm, got mlx"):
            tune(TuneServer(how=asked.how, server=url, engine="mlx"))


@pytest.mark.parametrize("gamma", [0, 3])
def test_a_live_server_that_ignores_requests_is_measured_as_it_runs(
    gamma: int, llama_cpp: LlamaCpp, tmp_path: Path
) -> None:
    with llama_cpp.serve(Setting(gamma)) as server:
        found = tune(request(server.url, tmp_path, tokens=40))
    [row] = found.rows
    assert (row.gamma, found.together) == (gamma, False)
    assert found.next_gamma is not None
    assert (row.drafts > 0) == (gamma > 0)


def test_a_live_server_simulates_the_stated_acceptance(llama_cpp: LlamaCpp) -> None:
    rates = (0.7, 0.4, 0.1)
    with llama_cpp.serve(Setting(3, synthetic=rates)) as server:
        for seed in range(6):
            server.complete((5, 6, 7), max_new_tokens=100, temperature=0.0, seed=seed)
        counts = server.counts()
    for rate, hits in zip(rates, counts.up_to(3), strict=True):
        # 4 deviations: one false alarm in ten thousand.
        deviation = (rate * (1 - rate) / counts.drafts) ** 0.5
        assert abs(hits / counts.drafts - rate) < 4 * deviation
