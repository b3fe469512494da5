"""Drafters as a user names them: `embedded`, `ngram:FILE`, `lookup:3`, `exit:4`, a model's name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ngram.drafters.matches import LONGEST, MOST

# Kind -> whether a value after the colon is refused (no), allowed (may) or needed (must).
KINDS = {
    "embedded": "no",
    "random": "no",
    "ngram": "may",
    "lookup": "may",
    "exit": "must",
    "hf": "must",
    "heads": "may",
}
# What may rescore the drafts of heads.
RESCORERS = frozenset({"ngram", "embedded", "hf"})
# Kinds that are models, which a drafter can draft for.
MODELS = frozenset({"embedded", "hf", "exit"})
# Tokens of a hierarchy's inner blocks where nothing else is said.
VIA_GAMMA = 4
_VIA = re.compile(r"\s+via(?::(\S*))?\s+")
# A tree is named by its parents.
_TREE = re.compile(r"(.*\S)\s+tree:(\S*)")
_PARENTS = re.compile(r"-?\d+(,-?\d+)*")
# The most tokens of a tree.
MOST_NODES = 256
INTEGERS = frozenset({"lookup", "exit"})


@dataclass(frozen=True, slots=True)
class DrafterName:
    """A parsed `--draft`.

    kind: one of KINDS; "hf" for a Hugging Face name or folder.
    value: what followed the colon; None where nothing did.
    otherwise: the drafter of the blocks for which this one proposes nothing; None: nobody.
    rescored_by: the n-gram or model that chooses from the lattice of heads; None: the heads.
    drafts: how many drafts of heads are verified in parallel.
    via: the drafter that drafts for this one, a model; None: nobody.
    via_gamma: how many tokens that one drafts per block.
    tree: of a model, the parents of the tree that it drafts; None: a chain.
    """

    kind: str
    value: str | None
    otherwise: DrafterName | None = None
    rescored_by: DrafterName | None = None
    drafts: int = 1
    via: DrafterName | None = None
    via_gamma: int = VIA_GAMMA
    tree: tuple[int, ...] | None = None

    @property
    def number(self) -> int | None:
        """The value of a kind that takes a number."""
        return None if self.value is None else int(self.value)


def parse_drafter(text: str) -> DrafterName:
    """Returns the drafter that a user named; anything unknown is a Hugging Face name or folder.

    `lookup+ngram` is a lookup, and an n-gram where it finds nothing; both may have their value.
    `heads+ngram` are heads whose drafts an n-gram rescores (or a model: `heads+embedded`,
    `heads+hf:NAME`), and `heads+ngram*16` the 16 best of these, verified in parallel.
    `A via B` is a hierarchy (Leviathan et al. 2023, section 6): the model A drafts, sped up by B,
    which may have one of its own, `A via B via C`; `via:N` has B draft N tokens a block.
    `A tree:PARENTS` has the model A draft a tree, given by which earlier token each one follows, -1
    the text: `tree:-1,-1,0` are two choices of the next token and one of what follows the first.

    Raises:
      ValueError: if a value is missing, superfluous or not a positive integer where one is due, or
        what comes before `via` or `tree` is no model, or parents are no tree.
    """
    tree = _TREE.fullmatch(text)
    if tree is not None:
        return _parse_tree(tree.group(1), tree.group(2))
    stage = _VIA.search(text)
    if stage is not None:
        model, inner = parse_drafter(text[: stage.start()]), parse_drafter(text[stage.end() :])
        if model.kind not in MODELS or model.tree is not None:
            raise ValueError(f"draft A via B needs a model as A, got {text[: stage.start()]!r}")
        if inner.kind == "heads":
            raise ValueError(f"draft A via B takes no heads as B, the target's own, got {text!r}")
        gamma = stage.group(1)
        if gamma is not None and not (gamma.isdecimal() and int(gamma) > 0):
            raise ValueError(f"draft via:N needs a positive integer N, got {text!r}")
        return replace(model, via=inner, via_gamma=VIA_GAMMA if gamma is None else int(gamma))
    if _kind(text.partition("+")[0].partition("*")[0]) == "heads":
        return _parse_heads(text)
    first, plus, second = text.partition("+")
    if plus and _kind(first) == "lookup" and _kind(second) == "ngram":
        lookup = parse_drafter(first)
        return DrafterName(lookup.kind, lookup.value, parse_drafter(second))
    kind, colon, value = text.partition(":")
    if kind not in KINDS:
        if not text.strip():
            raise ValueError("draft must name a drafter, got an empty name")
        return DrafterName("hf", text)
    if KINDS[kind] == "no" and colon:
        raise ValueError(f"draft {kind} takes no value, got {text!r}")
    if (KINDS[kind] == "must" or colon) and not value:
        raise ValueError(f"draft {kind}: needs a value after the colon, got {text!r}")
    if kind in INTEGERS and value and not (value.isdecimal() and int(value) > 0):
        raise ValueError(f"draft {kind}:N needs a positive integer N, got {text!r}")
    if kind == "lookup" and value and int(value) > MOST:
        raise ValueError(f"draft lookup:N needs an N of at most {MOST}, got {text!r}")
    return DrafterName(kind, value or None)


def _parse_tree(model: str, parents: str) -> DrafterName:
    """Returns a model that drafts a tree.

    Raises:
      ValueError: if it is none.
    """
    from simulator.schemes.trees import nodes_of

    parsed = parse_drafter(model)
    if parsed.kind not in MODELS or parsed.via is not None or parsed.tree is not None:
        raise ValueError(f"draft A tree:PARENTS needs a model as A, got {model!r}")
    if _PARENTS.fullmatch(parents) is None:
        raise ValueError(f"draft A tree:PARENTS needs integers as PARENTS, got {parents!r}")
    tree = tuple(map(int, parents.split(",")))
    if len(tree) > MOST_NODES:
        raise ValueError(
            f"draft A tree:PARENTS takes at most {MOST_NODES} of them, got {len(tree)}"
        )
    nodes_of(tree)
    return replace(parsed, tree=tree)


def served_draft(name: str) -> str | None:
    """Returns the name or folder by which a server can load a draft; None: it is no model.

    Args:
      name: as in a profile's setup.
    """
    from reference.models.embedded import weights_folder

    parsed = parse_drafter(name)
    if parsed.kind == "embedded":
        return str(weights_folder("draft"))
    return parsed.value if parsed.kind == "hf" else None


def _parse_heads(text: str) -> DrafterName:
    """Returns the heads, rescorer and number of drafts of a name that begins with `heads`.

    Raises:
      ValueError: if what follows is no rescorer, or no positive number of drafts.
    """
    whole, star, count = text.partition("*")
    if star and not (count.isdecimal() and int(count) > 0):
        raise ValueError(f"draft heads*P needs a positive integer P, got {text!r}")
    drafts = int(count) if star else 1
    first, plus, second = whole.partition("+")
    value = first.partition(":")[2]
    if ":" in first and not value:
        raise ValueError(f"draft heads: needs a value after the colon, got {text!r}")
    rescorer = None
    if plus:
        rescorer = parse_drafter(second)
        if _kind(second) not in RESCORERS:
            raise ValueError(
                f"draft heads+RESCORER needs ngram, ngram:FILE, embedded or hf:NAME, got {text!r}"
            )
        if drafts > 1 and rescorer.kind != "ngram":
            raise ValueError(
                f"draft heads+RESCORER*P needs an n-gram to find the P best paths, got {text!r}"
            )
    return DrafterName("heads", value or None, rescored_by=rescorer, drafts=drafts)


def lookup_length(text: str) -> int | None:
    """Returns how many tokens a lookup matches at most; None for other drafters, mixtures too.

    Raises:
      ValueError: as parse_drafter.
    """
    parsed = parse_drafter(text)
    if parsed.kind != "lookup" or parsed.otherwise is not None:
        return None
    return LONGEST if parsed.number is None else parsed.number


def _kind(text: str) -> str:
    return text.partition(":")[0]
