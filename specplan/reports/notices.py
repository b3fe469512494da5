"""What runs tell by `estimator.progress`, printed as warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from specplan.reports.output import warn


@contextmanager
def notices_printed() -> Iterator[None]:
    """Prints notices as they come; Python's other warnings go where they would."""
    from estimator.progress import Notice

    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, Notice):
                warn(str(message))
            else:
                others(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", Notice)
        warnings.showwarning = show
        yield
