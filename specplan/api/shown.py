"""Answers that Python and notebooks show as their page does: drawn, and as a table."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figures.drawing import Figure


class Shown:
    """An answer that a notebook shows: its advice, its picture (with matplotlib) and its table."""

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of the command that gives this answer."""
        raise NotImplementedError

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns the rows of `frame`."""
        raise NotImplementedError

    def frame(self) -> Any:
        """Returns the numbers as a pandas DataFrame, a row for each record (needs pandas)."""
        return importlib.import_module("pandas").DataFrame(list(self.records()))

    def plot(self) -> Figure:
        """Returns the drawing that the command's --plot writes (needs matplotlib)."""
        from specplan.reports.page.shown import plot, section_of

        return plot(section_of(self.json()))

    def _repr_html_(self) -> str:
        from specplan.reports.page.shown import notebook_html, section_of

        return notebook_html(section_of(self.json()))
