"""The flags of chosen draft trees: comments for what nobody ran."""

from collections.abc import Sequence

from engines.kind import exports_of, methods_of
from simulator.schemes.tree_choice import TreePlan
from specplan.reports.draft_labels import DraftLabels, require_loaded, served
from specplan.reports.first_runs import commented, first_line
from specplan.reports.trees import TreeRow, run_first

# Name of our own commands among the engines that draft trees.
OURS = "specplan"


def tree_exports(rows: Sequence[TreeRow], program: str, drafter: DraftLabels) -> str:
    """Returns the flags of each batch size: comments where nobody ran what they set.

    Flags of our own commands, which measure a tree, are comments only while it is undecided
    whether drafts gain.
    """
    texts = dict[int, str]()
    for row in rows:
        chain, text = row.choice.chain, tree_export(row, row.advised, program, drafter)
        if row.advised.widest > 1 and chain.parents and program != OURS:
            beside = tree_export(row, chain, program, drafter)
            text = (
                f"# the tree of {len(row.advised.parents)}:\n{text}\n"
                f"# the chain of K = {len(chain.parents)}:\n{beside}"
            )
        texts[row.cost.setting.batch] = text
    flags = "\n".join(f"# at batch {batch}:\n" * (len(texts) > 1) + text
                      for batch, text in texts.items())  # fmt: skip
    undecided, first = any(row.plan.advice.undecided for row in rows), run_first(rows)
    if not first or (program == OURS and not undecided):
        return flags
    above = (
        f"# Not run yet: run {first} first; take the # before the flags of one away for its run, "
        "and for good if it is the fastest."
    )
    if undecided:
        above = first_line("Undecided", first)
    return f"{above}\n{commented(flags)}"


def tree_export(row: TreeRow, best: TreePlan, program: str, drafter: DraftLabels) -> str:
    """Returns the flags that make a program draft the tree `best`; a comment if no tree pays.

    program: an engine, or "specplan" for `specplan generate` and `validate`, which draft exactly
      this tree. An engine's flags only bound the depth, width and size of its trees, whose shape
      follows the draft's probabilities.
    """
    if not best.parents:
        return "# no tree pays: run the target without a draft"
    if program == OURS:
        named = drafter.model or drafter.name or "MODEL"
        if best.widest == 1:
            return f"--draft {named} --gamma {best.depth} --draft-temperature 0"
        parents = ",".join(map(str, best.parents))
        return f"--draft '{named} tree:{parents}' --gamma {best.depth} --draft-temperature 0"
    tree, draft = exports_of(program).tree, drafter.drafted(row.cost.setting.load)
    if tree is None:
        raise ValueError(f"an engine to export a tree for must draft trees, got {program}")
    if drafter.name is not None:
        draft = served(draft, drafter.name)
    require_loaded(program, draft, methods_of(program))
    return tree(best.depth, best.widest, len(best.parents), draft)
