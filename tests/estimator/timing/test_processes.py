"""Which process this is, before any other is spoken to."""

import pytest
import torch

from estimator.timing.threads import ALONE, launched, require_one_process, these_processes


def test_without_torchrun_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert these_processes() is ALONE
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert these_processes() is ALONE


def test_alone_things_pass_as_they_are_made() -> None:
    made = []

    def making() -> "list[int]":
        made.append(1)
        return made

    assert ALONE.gathered("own") == ["own"]
    shared = ALONE.shared(making() for _ in range(2))
    next(shared)
    assert len(made) == 1


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5"])
def test_a_number_of_processes_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", text)
    with pytest.raises(ValueError, match=f"WORLD_SIZE must be a number .* at least 1, got {text}"):
        launched()


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="at most as many as the machine's GPUs, got 4 on 2"):
        these_processes()


def test_a_command_for_one_process_is_refused_among_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=r"validate must run in one process, got 3 \(WORLD_SIZE\)"):
        require_one_process("validate")
