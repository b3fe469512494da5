"""The figures by name and source, and how one is computed, drawn and written to files.

A figure's package is imported only when the figure is computed or drawn.
"""

from __future__ import annotations

import difflib
import importlib
import io
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estimator.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from estimator.validation.file import Validated
    from figures import drawing
    from figures.numbers import Numbers

FORMATS = ("png", "svg", "csv")
IMAGE_SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 150
_LEVIATHAN = "Leviathan et al. 2023"
_BILD = "Kim et al. 2023 (BiLD)"
_BLOCKWISE = "Kim et al. 2024 (blockwise drafts)"
_OURS = "ours"


@dataclass(frozen=True, slots=True)
class Entry:
    """One figure: its name, source and content.

    takes_results: whether compute() accepts the results of a validation.
    takes_load: whether compute() accepts a deployment and its load.
    """

    name: str
    source: str
    shows: str
    takes_results: bool = False
    takes_load: bool = False

    def declared(self) -> tuple[Callable[..., Any], Callable[[Any], Figure]]:
        """Returns the functions that compute and draw the figure, from its module's `FIGURES`."""
        paper = self.name.partition("-")[0]
        room = paper if paper in ("leviathan", "bild", "blockwise") else "ours"
        for module in pkgutil.iter_modules(importlib.import_module(f"figures.{room}").__path__):
            found = importlib.import_module(f"figures.{room}.{module.name}")
            declared: drawing.Declared = getattr(found, "FIGURES", {})
            if self.name in declared:
                return declared[self.name]
        raise LookupError(f"no module of figures.{room} declares {self.name}")

    def compute(self, results: Validated | None = None, load: object | None = None) -> Numbers:
        """Returns the figure's numbers; arguments that it does not accept are ignored.

        load: a `figures.ours.batch_size.FigureLoad`.
        """
        taken: list[Any] = [results] if self.takes_results else [load] if self.takes_load else []
        data: Numbers = self.declared()[0](*taken)
        return data

    def draw(self, data: Numbers) -> Figure:
        """Returns the drawing of compute()'s result."""
        return self.declared()[1](data)


def write_figure(
    entry: Entry,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    results: Validated | None = None,
    load: object | None = None,
) -> list[Path]:
    """Computes and draws a figure, and writes one file for each format; returns the files.

    Each file is written atomically. A missing folder is created. Refuses an unknown format.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name}")
    folder.mkdir(parents=True, exist_ok=True)
    data = entry.compute(results, load)
    figure = entry.draw(data) if set(formats) - {"csv"} else None
    written = [folder / f"{entry.name}.{name}" for name in formats]
    for path in written:
        if figure is None or path.suffix == ".csv":
            write_whole(path, data.csv().encode("utf-8"))
        else:
            save_image(figure, path)
    return written


def save_image(figure: Figure, path: Path) -> None:
    """Writes a drawing to one file, PNG or SVG by its suffix; refuses another suffix.

    Equal drawings give equal files, because no date or random name is written.
    """
    import matplotlib

    suffix = path.suffix.lower()
    if suffix not in IMAGE_SUFFIXES:
        raise ValueError(f"figure file must end in {' or '.join(IMAGE_SUFFIXES)}, got {path.name}")
    arranged = figure.get_layout_engine()
    if arranged is not None:  # once for all formats
        arranged.execute(figure)
        figure.set_layout_engine(None)
    stream, metadata = io.BytesIO(), {"Date": None} if suffix == ".svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "specplan"}):
        figure.savefig(stream, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    write_whole(path, stream.getvalue())


FIGURES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry("leviathan-fig2", _LEVIATHAN + ", Figure 2", "expected tokens per target call"),
            Entry("leviathan-fig3", _LEVIATHAN + ", Figure 3", "optimal γ against α, by cost c"),
            Entry("leviathan-fig4", _LEVIATHAN + ", Figure 4", "speed-up and operations by α"),
            Entry("leviathan-fig5", _LEVIATHAN + ", Figure 5", "trace of γ = 7, γ = 3, standard"),
            Entry("leviathan-table1", _LEVIATHAN + ", Table 1", "operations and speed by (α, γ)"),
            Entry(
                "leviathan-table3", _LEVIATHAN + ", Table 3", "α of many pairs", takes_results=True
            ),
            Entry("leviathan-table4", _LEVIATHAN + ", Table 4", "expected and measured speed-up"),
            Entry("leviathan-table5", _LEVIATHAN + ", Table 5, §A.5", "α and speed-up by lenience"),
            Entry("bild-fig2", _BILD + ", Figure 2", "quality by the large model's share"),
            Entry("bild-fig4", _BILD + ", Figure 4", "quality against latency, both decoders"),
            Entry("bild-fig5", _BILD + ", Figure 5", "without fallback, without rollback"),
            Entry("bild-fig8", _BILD + ", Figure 8", "operations, memory traffic, speed-up"),
            Entry("bild-fig10", _BILD + ", Figure 10", "quality against latency, by thresholds"),
            Entry("bild-table1", _BILD + ", Table 1", "speed-up without loss, and at 1 point lost"),
            Entry("bild-table3", _BILD + ", Table 3", "BiLD and speculative decoding"),
            Entry("bild-table4", _BILD + ", Table 4", "fallbacks and rollbacks of either"),
            Entry("bild-table5", _BILD + ", Table 5", "nucleus sampling at p = 0.8"),
            Entry("blockwise-fig2", _BLOCKWISE + ", Figure 2", "entropy of each head"),
            Entry("blockwise-fig3", _BLOCKWISE + ", Figure 3", "block efficiency against h_max"),
            Entry("blockwise-fig6", _BLOCKWISE + ", Figure 6", "best path among k arcs a head"),
            Entry("blockwise-fig7", _BLOCKWISE + ", Figure 7", "p drafts verified in one call"),
            Entry("blockwise-table3", _BLOCKWISE + ", Table 3", "repetition in drafts"),
            Entry("blockwise-table4", _BLOCKWISE + ", Table 4", "block efficiency, rescored"),
            Entry("blockwise-table5", _BLOCKWISE + ", Table 5", "wins of rescored drafts"),
            Entry("blockwise-table8", _BLOCKWISE + ", Table 8", "tuned weight of the rescorer"),
            Entry("blockwise-table9", _BLOCKWISE + ", Table 9", "block efficiency by rescorer"),
            Entry("blockwise-table10", _BLOCKWISE + ", Table 10", "block efficiency by heads"),
            Entry("blockwise-table11", _BLOCKWISE + ", Table 11", "memory traffic per token"),
            Entry("blockwise-traffic", _OURS, "memory traffic per token of the embedded target"),
            Entry("blockwise-table12", _BLOCKWISE + ", Table 12", "time of the N best paths"),
            Entry("blockwise-table13", _BLOCKWISE + ", Table 13", "time of the best path"),
            Entry("speedup-map", _OURS, "best speed-up over (α, c), and where it ends"),
            Entry("verification-cost", _OURS, "optimal γ when verification is not free"),
            Entry("batch-size", _OURS, "best γ and speed-up by batch size", takes_load=True),
            Entry("traffic", _OURS, "time per token against requests a second, and the crossing"),
            Entry("block-verification", _OURS, "what judging a draft as a whole adds, by γ and α"),
            Entry("tree-size", _OURS, "expected tokens by tree size, best tree and others"),
            Entry("draft-hierarchy", _OURS, "what a drafter for the draft model gains, by c"),
            Entry("confidence-map", _OURS, "speed-up by γ and by the confidence that ends a draft"),
            Entry("adaptive-verification", _OURS, "gain of verification by rank, by batch size"),
            Entry("public-measurements", _OURS, "others' speed-ups, predicted and measured"),
            Entry("predicted-measured", _OURS, "predicted, measured speed-ups", takes_results=True),
        )
    }
)


def find_figure(name: str) -> Entry:
    """Returns the figure with that name.

    Raises ValueError if there is none; the message suggests the nearest name.
    """
    if name in FIGURES:
        return FIGURES[name]
    ending = [known for known in FIGURES if known.endswith(f"-{name}")]
    near = ending or difflib.get_close_matches(name, FIGURES, n=1, cutoff=0.0)
    raise ValueError(f"unknown figure {name!r}; did you mean {near[0]!r}? --list names them all")
