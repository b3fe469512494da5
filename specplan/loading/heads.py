"""Blockwise heads as a drafter: loaded, their drafts rescored and multiplied as their name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ngram.rows.rows import Rows
from reference.drafter import Drafter
from reference.laws.sampling import Sampling
from reference.models.cached_model import CachedModel
from reference.models.embedded import weights_folder
from reference.models.model import Model
from reference.models.tree_mask import require_branching
from specplan.options.drafter_names import DrafterName
from specplan.reports.output import warn
from studies.blockwise.drafter import HeadsDrafter
from studies.blockwise.folder import load_heads
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.drafter import LatticeDrafter, Rescoring
from studies.blockwise.lattice.lattice import require_arcs
from studies.blockwise.lattice.rescoring import GlobalRescoring, LocalRescoring


def heads_drafter(
    name: DrafterName,
    target: CachedModel,
    *,
    rows: Rows | None,
    model: Model | None,
    k: int,
    weight: float,
) -> Callable[[Sampling], Drafter]:
    """Returns what makes the named drafter of heads for given sampling settings.

    Args:
      name: of the drafter.
      target: loaded.
      rows: of the n-gram that rescores; None: none does.
      model: the model that rescores; None: none does.
      k: tokens of each head in the lattice.
      weight: of the rescorer.

    Raises:
      ValueError: if the heads are another model's, k or weight is out of range, or the target
        cannot verify drafts in parallel.
    """
    folder = weights_folder("heads") if name.value is None else Path(name.value)
    heads = load_heads(folder, target.module, name=target.name)
    embedding = target.module.get_output_embeddings()
    shown = "heads" if name.value is None else f"heads:{name.value}"

    def plain(sampling: Sampling) -> HeadsDrafter:
        return HeadsDrafter(target, heads, embedding, sampling, name=shown)

    if rows is None and model is None and name.drafts == 1:
        return plain
    require_arcs(k, target.vocabulary)
    if name.drafts > 1:
        require_branching(target)
        paths = k ** (heads.count - 1)
        if name.drafts > paths:
            warn(f"the lattice has {paths} paths, all of which are drafted: fewer than asked for")
    rescored = shown
    if name.rescored_by is not None:
        by = name.rescored_by
        rescored += f"+{by.kind}" if by.value is None else f"+{by.kind}:{by.value}"
    if name.drafts > 1:
        rescored += f"*{name.drafts}"
    rescoring: Rescoring
    if model is not None:
        rescoring = LocalRescoring(model, target.vocabulary, weight=weight)
    else:
        automaton = None if rows is None else Automaton(rows)
        rescoring = GlobalRescoring(automaton, weight=weight, count=name.drafts)
    return lambda sampling: LatticeDrafter(plain(sampling), rescoring, k=k, name=rescored)
