"""Weight matrices as servers multiply them: which are one product, and which side GPUs divide."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

Divided = Literal["outputs", "inputs", "whole"]
# Caches of keys and values, whose attention was measured.
PLAIN_CACHES = ("full", "sliding", "chunked")
LATENT_CACHES = ("latent",)
# Names of matrices that choose experts, and of projections to a latent state: both are whole on
# every GPU.
ROUTERS = ("gate", "router", "shared_expert_gate")
_LATENT = ("q_a_proj", "kv_a_proj_with_mqa")


class Matrix(NamedTuple):
    """A product of a pass; servers join matrices that read the same input.

    outputs, inputs: length of the result, and of the vector that is multiplied.
    divided: the side that several GPUs divide; "whole": every GPU multiplies all of it.
    copies: number of such matrices in the model.
    """

    outputs: int
    inputs: int
    divided: Divided = "outputs"
    copies: int = 1

    def sides(self, tp: int) -> tuple[int, int]:
        """Returns outputs and inputs on each of `tp` GPUs."""
        match self.divided:
            case "outputs":
                return max(round(self.outputs / tp), 1), self.inputs
            case "inputs":
                return self.outputs, max(round(self.inputs / tp), 1)
        return self.outputs, self.inputs


def joined(modules: Mapping[str, list[tuple[str, int, int]]], hidden: int) -> tuple[Matrix, ...]:
    """Returns the products of modules; modules: name, outputs and inputs of their matrices.

    Servers multiply matrices that read the same input as one. A module's last matrix returns hidden
    states from heads or inner values, which GPUs divide.
    """
    counted: Counter[Matrix] = Counter()
    for matrices in modules.values():
        together: Counter[tuple[int, Divided]] = Counter()
        for place, (name, outputs, inputs) in enumerate(matrices, start=1):
            if 1 < place == len(matrices) and outputs == hidden:
                counted[Matrix(outputs, inputs, "inputs")] += 1
            else:
                whole = name in (*ROUTERS, *_LATENT)
                together[inputs, "whole" if whole else "outputs"] += outputs
        counted.update(Matrix(outputs, *read) for read, outputs in together.items())
    return tuple(matrix._replace(copies=copies) for matrix, copies in counted.items())
