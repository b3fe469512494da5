"""`heads`, `heads:FOLDER`, `heads+RESCORER*P`: blockwise heads and their rescorers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.draft_names.kind import (
    JOINED_BY_SIGNS,
    DrafterKind,
    DrafterOf,
    LoadContext,
    ModelKind,
    drafter_kinds,
    parse_drafter,
    positive,
)
from estimator.draft_names.ngram import Ngram
from estimator.progress import notice
from estimator.settings import ModelSettings
from reference.models.embedded import EMBEDDED
from reference.models.folders import require_file
from studies.blockwise import DESCRIPTION, HEADS_FOLDER

if TYPE_CHECKING:
    from reference.laws import Sampling
    from studies.blockwise.heads import HeadsDrafter
    from studies.blockwise.rescoring import Rescoring

# Default number of tokens of each head in the lattice, and default weight of the rescorer.
LATTICE_K = 16
RESCORING_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class HeadsName(DrafterKind):
    """A drafter named by the user: blockwise heads of the target, e.g. heads:FOLDER+ngram*4.

    folder: folder of the heads; None: the embedded heads.
    rescorer: n-gram or model that chooses from the heads' lattice; None: the heads choose.
    drafts: number of best paths that one target call verifies in parallel.
    """

    prefix = "heads"
    names = ("heads", "heads:FOLDER", "heads+RESCORER", "heads+ngram*P")
    match_priority = JOINED_BY_SIGNS
    own_states = True
    uncompiled = "draft heads, which read the states that passes leave"
    unspread = (
        "draft heads, which are where the target's first layer is and read what the last one leaves"
    )

    folder: str | None = None
    rescorer: DrafterKind | None = None
    drafts: int = 1

    @classmethod
    def parse(cls, text: str) -> HeadsName | None:
        whole, star, count = text.partition("*")
        first, plus, second = whole.partition("+")
        heads = super(HeadsName, cls).parse(first)
        if not isinstance(heads, HeadsName):
            return None
        drafts = positive(count, "heads*P", text) if star else 1
        rescorer = _rescorer(second, text) if plus else None
        if drafts > 1 and rescorer is not None and not isinstance(rescorer, Ngram):
            raise ValueError(
                f"draft heads+RESCORER*P needs an n-gram to find the P best paths, got {text!r}"
            )
        return cls(heads.folder, rescorer, drafts)

    def __str__(self) -> str:
        rescorer = "" if self.rescorer is None else f"+{self.rescorer}"
        paths = "" if self.drafts == 1 else f"*{self.drafts}"
        return f"{self._heads}{rescorer}{paths}"

    @property
    def _heads(self) -> str:
        return self.prefix if self.folder is None else f"{self.prefix}:{self.folder}"

    @property
    def alone(self) -> bool:
        """Whether the heads draft without a rescorer."""
        return self.rescorer is None and self.drafts == 1

    @property
    def reads(self) -> frozenset[str]:
        return frozenset() if self.alone else frozenset({"lattice_k", "rescoring_weight"})

    @property
    def branches(self) -> bool:
        return self.drafts > 1

    @property
    def own_files(self) -> tuple[Path, ...]:
        from reference.models.embedded import weights_folder

        return (weights_folder("heads") if self.folder is None else Path(self.folder),)

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        if self.folder is None and target != EMBEDDED:
            raise ValueError(
                f"draft heads needs the embedded target, got {target}; train its own with: "
                "specplan heads train"
            )
        if self.folder is not None:
            require_file(self.folder, DESCRIPTION, HEADS_FOLDER)

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.models.text_tree import require_branching
        from studies.blockwise.best_paths import Automaton, require_arcs
        from studies.blockwise.heads import HeadsDrafter, load_heads
        from studies.blockwise.rescoring import GlobalRescoring, LatticeDrafter, LocalRescoring

        target = context.target
        [folder] = self.own_files
        heads = load_heads(folder, target.module, name=target.name)
        embedding = target.module.get_output_embeddings()

        def plain(sampling: Sampling) -> HeadsDrafter:
            return HeadsDrafter(target, heads, embedding, sampling, name=self._heads)

        if self.alone:
            return plain
        settings, width = context.settings, target.vocabulary
        k = lattice_k(settings.lattice_k)
        require_arcs(k, width)
        weight = settings.rescoring_weight
        weight = RESCORING_WEIGHT if weight is None else weight
        rescoring: Rescoring
        if isinstance(self.rescorer, ModelKind):
            rescoring = LocalRescoring(self.rescorer.model(context), width, weight=weight)
        else:
            automaton = None
            if isinstance(self.rescorer, Ngram):
                automaton = Automaton(self.rescorer.rows(context.tokenizer, width=width))
            rescoring = GlobalRescoring(automaton, weight=weight, count=self.drafts)
        if self.drafts > 1:
            require_branching(target)
            paths = k ** (heads.count - 1)
            if self.drafts > paths:
                notice(
                    f"the lattice has {paths} paths, all of which are drafted: fewer than requested"
                )
        return lambda sampling: LatticeDrafter(plain(sampling), rescoring, k=k, name=str(self))


def lattice_k(stated: int | None) -> int:
    """Returns k, the number of tokens per head in a lattice: `stated`, or LATTICE_K if None."""
    return LATTICE_K if stated is None else stated


def _rescorer(named: str, text: str) -> DrafterKind:
    rescorer = parse_drafter(named)
    if not rescorer.rescores or named.partition(":")[0] != rescorer.prefix:
        words = ", ".join(kind.prefix for kind in drafter_kinds() if kind.rescores)
        raise ValueError(f"draft heads+RESCORER needs one of {words}, got {text!r}")
    return rescorer
