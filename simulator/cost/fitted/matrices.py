"""The matrices of a model's weights that each GPU multiplies, as kernels are measured for them.

A shape states the number of values of each kind, V in a layer, and the hidden size h. Sizes follow:

    feed-forward, gate, up and down (Shazeer 2020):               V = 3 h · inner
    attention's output, from the scores' operations 4 · queries:  V_out = h · queries
    queries, keys and values:                                     V - V_out
"""

from simulator.cost.roofline.shapes import ModelShape, Weights

# Caches of keys and values, whose attention was measured.
PLAIN_CACHES = ("full", "sliding", "chunked")
# Biases and norms, which are left out of products, are at most this share of the weights.
_NEAR = 0.02
# A feed-forward network with a smaller inner size than this is a router of experts.
_LEAST_INNER = 128


def logits(shape: ModelShape) -> float:
    """Returns the number of tokens between which a pass chooses; 0 without an output matrix."""
    return sum(each.values for each in shape.only("head")) / shape.hidden


def matrices(weights: Weights, shape: ModelShape, tp: int) -> list[tuple[int, int, int]]:
    """Returns the weight matrices on each GPU as (outputs, inputs, number of such matrices).

    A layer's attention counts as two matrices (one for queries, keys and values, one for the
    output), its feed-forward network as two (gate and up, down), and other kinds of weights as one.
    """
    hidden, layers = shape.hidden, max(shape.layers, 1)
    values = weights.values / layers
    match weights.kind:
        case "head":
            return [(round(weights.values / hidden / tp), hidden, 1)]
        case "other" if weights.values < _NEAR * shape.active_parameters:
            return []
        case "attention":
            plain = shape.caches and all(each.kind in PLAIN_CACHES for each in shape.caches)
            output = hidden * shape.caches[0].operations / 4 if plain else 0.0
            # The first matrix has the values that the output's has not; 3/5 where that is unknown.
            first = values - output if 0 < output < 0.8 * values else 0.6 * values
            sides = [(first / hidden / tp, hidden), (hidden, (values - first) / hidden / tp)]
        case "feed-forward":
            inner = values / 3 / hidden
            sides = [(2 * inner / tp, hidden), (hidden, inner / tp)]
            if inner < _LEAST_INNER:  # a router of experts, the same on every GPU
                sides = [(values / hidden, hidden)]
        case _:
            sides = [(values / hidden / tp, hidden)]
    return [(max(round(n), 1), max(round(k), 1), layers) for n, k in sides]
