"""Figures that are declared instead of having a module: most tables, and curves of closed forms."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from figures.bild import trade_off
from figures.bild.measured import SOURCE
from figures.bild.tables import by_calls, by_loss, by_method, by_nucleus, lay_lines, lines_of
from figures.blockwise import efficiency, entropy, times, traffic
from figures.blockwise.grid import Cell, efficiencies, lay_grid, own, repetition, weights, wins
from figures.blockwise.measured import PAPER, analysis, said
from figures.drawing.table import Drawing, paper_table
from figures.leviathan import closed_forms
from studies.bild.swept import NO_LOSS

_BILD = "Kim et al. 2023 (BiLD)"
_METRICS = "BLEU of translation and spelling, agreement with the large model (%) of code"


def _bild_source(paper: str, ours: str) -> str:
    return f"{_BILD}, {paper}; {SOURCE}: {_METRICS}; {ours}"


_COMPARED = ("4-gram", "neural", "parallel base", "parallel 4-gram")
_TUNED = ("neural", "4-gram")


def _gains(_: Sequence[Cell]) -> str:
    gains = ", ".join(
        f"{way.name} {way.change_percent:+.0f} % [{way.change_low:+.0f}, {way.change_high:+.0f}]"
        for way in analysis().variants
        if way.name in _COMPARED
    )
    return f"Block efficiency over the heads' own drafts, ours: {gains}"


def _tuning_source() -> str:
    tried = {
        name: [row.block_efficiency for row in analysis().tuning[name].rows] for name in _TUNED
    }
    reach = "; ".join(f"{name} {min(of):.3f} to {max(of):.3f}" for name, of in tried.items())
    return (
        f"{PAPER}, Table 8, grid 0.1 to 10 of its appendix E. Ours: on "
        f"{analysis().tuning_texts} texts; block efficiency there over the grid: {reach}"
    )


DECLARED: Mapping[str, Drawing] = MappingProxyType(
    {
        **closed_forms.FIGURES,
        **trade_off.FIGURES,
        **entropy.FIGURES,
        **efficiency.FIGURES,
        **times.FIGURES,
        "bild-table1": paper_table(
            lambda: lines_of("bild-table1", by_loss),
            lay_lines,
            "Quality and speed-up of BiLD without loss and with one point lost",
            lambda: _bild_source(
                "Table 1: BLEU or ROUGE-L on a T4", f"no loss: at most {NO_LOSS} points"
            ),
        ),
        "bild-table3": paper_table(
            lambda: lines_of("bild-table3", by_method),
            lay_lines,
            "BiLD where it is as fast as speculative decoding, and where it is as good",
            lambda: _bild_source(
                "Table 3: BLEU or ROUGE-L on a T4", "rejection sampling: strict, at its fastest γ"
            ),
        ),
        "bild-table4": paper_table(
            lambda: lines_of("bild-table4", by_calls),
            partial(lay_lines, percentages=True),
            "Quality, speed-up, and large calls / rollbacks in per cent of the tokens",
            lambda: _bild_source(
                "Table 4, whose percentages it does not define",
                f"BiLD: its fastest that loses at most {NO_LOSS} points; of ours, "
                "rollbacks of rejection sampling are at most so many (docs/bild.md)",
            ),
        ),
        "bild-table5": paper_table(
            lambda: lines_of("bild-table5", by_nucleus),
            lay_lines,
            "BiLD with nucleus sampling, p = 0.8",
            lambda: _bild_source(
                "Table 5: BLEU or ROUGE-L on a T4", "the first BiLD is ours of the best quality"
            ),
        ),
        "blockwise-table3": paper_table(
            repetition,
            partial(lay_grid, form=".1f", width=8.4),
            lambda cells: (
                f"A 2-gram takes repetition from {own(cells, '% consecutive'):.0f} % to "
                f"{own(cells, 'with 2-gram'):.0f} % of neighbouring drafted tokens"
            ),
            lambda: (
                f"{PAPER}, Table 3: pairs of neighbours in a draft that are one token, and the "
                f"mean over blocks of the longest such run. {said()}"
            ),
        ),
        "blockwise-table4": paper_table(
            partial(efficiencies, "blockwise-table4"),
            lay_grid,
            _gains,
            lambda: (
                f"{PAPER}, Table 4 (neural: 61M weights; parallel: 16 drafts). {said()}; "
                "neural: the embedded draft"
            ),
        ),
        "blockwise-table5": paper_table(
            wins,
            partial(lay_grid, form=".1f"),
            lambda cells: (
                f"Neural rescoring: {own(cells, '% wins'):.0f} % of blocks get more tokens "
                f"accepted, {own(cells, '% losses'):.0f} % fewer; "
                f"{own(cells, 'wins repair'):.0f} % of the wins end a repetition"
            ),
            lambda: (
                f"{PAPER}, Table 5 (61M weights), as shares of all blocks, by accepted tokens; "
                "repair: the rescored draft no longer repeats a token, regress: "
                f"it now does. {said()}; neural: the embedded draft"
            ),
        ),
        "blockwise-table8": paper_table(
            weights,
            partial(lay_grid, form="g", width=6.4),
            "The tuned weight of the rescorer",
            _tuning_source,
        ),
        "blockwise-table9": paper_table(
            partial(efficiencies, "blockwise-table9"),
            partial(lay_grid, width=12.5),
            lambda cells: (
                f"Block efficiency by rescorer: ours between {own(cells, 'base'):.2f} "
                f"(heads alone) and {own(cells, 'oracle k=16'):.2f} (the best path there is)"
            ),
            lambda: f"{PAPER}, Table 9. {said()}; neural: the embedded draft",
        ),
        "blockwise-table10": paper_table(
            partial(efficiencies, "blockwise-table10"),
            partial(lay_grid, form=".3f", width=7.6),
            lambda cells: (
                "Block efficiency with 3, 6 and 9 heads: ours "
                + ", ".join(f"{own(cells, f'{heads} heads'):.3f}" for heads in (3, 6, 9))
            ),
            lambda: (
                f"{PAPER}, Table 10 (models trained with so many heads). {said()}; ours are "
                "the first of nine heads, trained apart from one another on a frozen model"
            ),
        ),
        "blockwise-table11": paper_table(
            traffic.table11,
            traffic.lay_table11,
            lambda rows: (
                "Memory traffic, GB per token: "
                f"{sum(not row.differs for row in rows)} of the paper's {len(rows)} such numbers "
                "reproduced"
            ),
            lambda: (
                f"{PAPER}, Table 11 but for its FLOPS; the paper's number "
                "in brackets. Parameters: weights / B; cache: kv·(L + p·h) / B. B: block "
                "efficiency, tokens per target call; kv: keys and values of one token; "
                "L: tokens of context; "
                f"p = {traffic.PARALLEL_DRAFTS} parallel drafts (1 if not parallel, 0 if "
                f"autoregressive); h = {traffic.HEADS} heads; for neural-61M weights and kv "
                "include the rescorer's"
            ),
        ),
        "blockwise-traffic": paper_table(
            traffic.own_traffic,
            traffic.lay_own_traffic,
            traffic.own_title,
            lambda: (
                f"As Table 11 of {PAPER}: weights / B and kv·(L + p·h) / "
                "B, float32; B: block efficiency, L: tokens of context, "
                f"p = {traffic.PARALLEL_DRAFTS} parallel drafts, each read in full "
                "(a tree reads shared beginnings once). "
                f"{said()}"
            ),
        ),
    }
)
