"""Measures the time of forward passes without waiting for the device."""

import time
from types import TracebackType
from typing import Any

import torch


class Stopwatch:
    """Adds up the seconds of code inside `with stopwatch:`.

    On a CUDA device it records events and reads them once the device has finished.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._cuda = device.type == "cuda"
        self._seconds = 0.0
        self._began = 0.0
        self._pending: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Stopwatch":
        return Stopwatch(self._device)  # a copy counts its own passes, from 0

    def __enter__(self) -> None:
        if self._cuda:
            pair = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            self._pending.append(pair)
            pair[0].record(torch.cuda.current_stream(self._device))
        else:
            self._began = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._cuda:
            self._pending[-1][1].record(torch.cuda.current_stream(self._device))
        else:
            self._seconds += time.perf_counter() - self._began

    @property
    def seconds(self) -> float:
        """Seconds so far; on CUDA this waits for passes that have begun."""
        for start, end in self._pending:
            end.synchronize()
            self._seconds += start.elapsed_time(end) / 1e3
        self._pending.clear()
        return self._seconds
