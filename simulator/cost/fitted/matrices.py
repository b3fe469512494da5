"""The products of a pass over a model's weights on each GPU, as kernels are measured for them."""

from simulator.cost.roofline.shapes import ModelShape, Weights

# Caches of keys and values, whose attention was measured.
PLAIN_CACHES = ("full", "sliding", "chunked")
# Biases and norms, which are left out of products, are at most this share of the weights.
_NEAR = 0.02


def logits(shape: ModelShape) -> float:
    """Returns the number of tokens between which a pass chooses; 0 without an output matrix."""
    return sum(each.values for each in shape.only("head")) / shape.hidden


def matrices(weights: Weights, shape: ModelShape, tp: int) -> list[tuple[int, int, int]]:
    """Returns the weight matrices on each GPU as (outputs, inputs, number of such matrices).

    Weights whose matrices were not counted are one in each layer, which reads the hidden state.
    """
    if weights.matrices:
        return [(*each.sides(tp), each.count) for each in weights.matrices]
    if weights.kind == "other" and weights.values < _NEAR * shape.layers * shape.active_parameters:
        return []
    layers = 1 if weights.kind == "head" else max(shape.layers, 1)
    return [(max(round(weights.values / layers / shape.hidden / tp), 1), shape.hidden, layers)]
