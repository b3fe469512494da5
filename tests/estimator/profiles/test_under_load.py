"""Costs of batches: the timed passes, and the refusals."""

import pytest

from estimator.profiles.under_load import BLOCKS_A_TURN, Batch, load_times, require_load
from tests.estimator.pairs import tiny_llama


def test_every_pass_is_timed_and_caches_stay_as_long_as_they_were() -> None:
    target, draft = tiny_llama(seed=0), tiny_llama(seed=1)
    turns = []
    times = load_times(
        target, draft, batch=3, context=5, gammas=(1, 4), repeats=2,
        progress=lambda: turns.append(1),
    )  # fmt: skip
    assert (times.batch, times.context, len(turns)) == (3, 5, 2)
    assert set(times.target_ms) == {1, 2, 5}
    assert set(times.drafting_ms) == {1, 4}
    assert min(*times.target_ms.values(), *times.drafting_ms.values()) > 0
    assert times.spread_percent >= 0


def test_a_pass_is_over_the_whole_batch_and_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    target, draft = tiny_llama(seed=0), tiny_llama(seed=1)
    seen: dict[str, list[tuple[int, int, int]]] = {"target": [], "draft": []}
    for name, model in (("target", target), ("draft", draft)):
        forward = model.module.forward

        def watched(*, _name: str = name, _forward: object = forward, **given: object) -> object:
            ids, cache = given["input_ids"], given["past_key_values"]
            seen[_name].append((*ids.shape, cache.get_seq_length()))  # type: ignore[attr-defined]
            return _forward(**given)  # type: ignore[operator]

        monkeypatch.setattr(model.module, "forward", watched)
    load_times(target, draft, batch=2, context=6, gammas=(3,), repeats=1, progress=lambda: None)
    blocks = BLOCKS_A_TURN
    first, *turns = seen["target"]
    assert first == (2, 6, 0)
    # In one order or the other.
    assert sorted(turns) == [(2, 1, 6)] * blocks + [(2, 4, 6)] * blocks
    assert turns[:blocks] == [turns[0]] * blocks
    assert seen["draft"] == [(2, 6, 0), *[(2, 1, 6), (2, 1, 7), (2, 1, 8)] * blocks]


def test_loads_that_cannot_be_timed_are_refused() -> None:
    target, draft = tiny_llama(seed=0), tiny_llama(seed=1)
    given = {"loads": ((1, 8), (4, 8)), "max_gamma": 4, "draft_name": "lookup"}
    assert require_load(target, draft, **given) is draft
    with pytest.raises(ValueError, match="and a draft model, got draft lookup"):
        require_load(target, None, **given)
    limit = target.max_length
    assert limit is not None
    with pytest.raises(ValueError, match=f"leave room for 5 tokens in the {limit} positions"):
        require_load(target, draft, **{**given, "loads": ((1, 8), (1, limit - 4))})


def test_the_speed_of_a_turn_is_divided_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes a second for each token, in every other turn twice that."""
    turns: list[int] = []

    def seconds(self: Batch, passes: int, tokens: int) -> float:
        return passes * tokens * self.batch * (1.0 + len(turns) % 2)

    monkeypatch.setattr(Batch, "seconds", seconds)
    monkeypatch.setattr(Batch, "__init__", lambda self, model, batch, context: setattr(
        self, "batch", batch
    ))  # fmt: skip
    times = load_times(
        tiny_llama(seed=0), tiny_llama(seed=1), batch=2, context=6, gammas=(1, 3), repeats=5,
        progress=lambda: turns.append(1),
    )  # fmt: skip
    assert times.target_ms == pytest.approx({1: 2e3, 2: 4e3, 4: 8e3})
    assert times.drafting_ms == pytest.approx({1: 2e3, 3: 6e3})
    assert times.spread_percent == pytest.approx(0)
