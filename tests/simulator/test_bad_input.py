"""Bad input of the simulator's public functions: one line with the name, the rule and the value."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid, PositionRates
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.replay import Replay, hierarchical_cost
from simulator.acceptance.replayed import Replayed
from simulator.acceptance.tokens import (
    alpha_from_accepted_fraction,
    alpha_from_block_efficiency,
    beta_of_laws,
    block_acceptance,
    expected_tokens,
    interpolated_alpha,
)
from simulator.choice.advice import advise
from simulator.choice.break_even import break_even_alpha
from simulator.choice.schedule import schedule
from simulator.choice.walltime import (
    improvement_factor,
    lower_bound,
    operations_factor,
    optimal_gamma,
    oracle_improvement_factor,
)
from simulator.cost.cost import Ratio
from simulator.cost.curves import BeamCost, CostModel
from simulator.cost.fitted.machine import work
from simulator.cost.fitted.prior import Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.cost.roofline.deployment import Deployment, draft_pass_seconds, roofline_cost
from simulator.cost.roofline.experts import distinct_experts
from simulator.cost.roofline.forward import forward_seconds
from simulator.cost.roofline.hardware import NumberFormat, find_format, find_hardware, own_hardware
from simulator.cost.roofline.sharing import Conditions, all_reduce_seconds, require_division
from simulator.numerics.intervals import Forecast
from simulator.schemes.tree_choice import Passes, choose_tree
from simulator.schemes.trees import TreeAcceptance, best_trees, chain, tree_tokens
from simulator.traffic.demand import Demand, Requests
from simulator.traffic.trace import read_trace
from tests.simulator.known_shapes import LLAMA_1B, LLAMA_8B, model_draft
from tests.simulator.planned import planned
from tests.simulator.served_machines import DRAFT

Refusals = list[tuple[Callable[[], object], str]]
HALF = np.full(3, 0.5)
COST = CostModel({1: 1.0, 4: 1.2}, 0.1)
PAIR = Deployment(LLAMA_8B, model_draft(LLAMA_1B), find_hardware("h100"))
LOAD = LoadPoint(1000)

ACCEPTANCE: Refusals = [
    (lambda: Iid(1.2), r"alpha must lie in \[0, 1\], got 1.2"),
    (lambda: PositionRates(()), "acceptance_by_position must have at least one rate"),
    (lambda: PositionRates((0.5, 1.2)), r"acceptance_by_position must lie in \[0, 1\], got 1.2"),
    (lambda: Replayed(0.5, {}), "blocks must have every gamma from 1 on, got"),
    (lambda: Replayed(0.5, {2: (0.1, 0.2, 0.3)}), "blocks must have every gamma from 1 on"),
    (lambda: Replayed(0.5, {1: (0.1,)}), r"blocks\[1\] must have 2 numbers whose sum"),
    (lambda: Replayed(0.5, {1: (0.9, 0.2)}), r"blocks\[1\] must have 2 numbers whose sum"),
    (lambda: beta_of_laws([0.5, 0.5], [0.5, 0.4]), "q must sum to 1 .*, got 0.9: 0.1 too little"),
    (lambda: beta_of_laws([1, -0.1, 0.1], [0.5, 0.5, 0]), r"p must lie in \[0, 1\], got -0.1"),
    (lambda: beta_of_laws([0.5, 0.5], [0.5, 0.3, 0.2]), "p and q must have shapes that broadcast"),
    (lambda: block_acceptance([-0.1], 1), "ratio must be finite and at least 0, got -0.1"),
    (lambda: block_acceptance([inf], 1), "ratio must be finite and at least 0, got inf"),
    (lambda: block_acceptance([1.0], 0), "max_gamma must be at least 1, got 0"),
    (lambda: block_acceptance(np.ones((3, 2)), 3), r"ratio must .* \(N, 3 or more\), got \(3, 2\)"),
    (lambda: Accepted(3, 4.2), r"length must lie in \[1, 4\], gamma \+ 1, at gamma 3, got 4.2"),
    (lambda: Accepted(0, 1.0), "gamma must be at least 1, got 0"),
    (lambda: Accepted(3, 2.0, (0.5, 0.5)), "rates must be 3, one for each position, got 2"),
    (lambda: Accepted.of_rates((0.5, 0.6)), "must not rise from one position to the next"),
    (lambda: Accepted.of_rates((1.5,)), r"position_acceptance must lie in \[0, 1\], got 1.5"),
    (lambda: Replay([0.5, 1.2]).calls(1), r"acceptance must lie in \[0, 1\], got 1.2"),
    (lambda: Replay([0.5, nan]).calls(1), r"acceptance must lie in \[0, 1\], got nan"),
    (lambda: Replay([[0.5, 0.2], [1.2, 0.2], [0.5, 0.2]]).calls(2), r"acceptance must .*, got 1.2"),
    (lambda: Replay([]), r"acceptance must have shape .* and not be empty, got \(0,\)"),
    (lambda: Replay(0.5), r"acceptance must have shape .*, got \(\)"),
    (lambda: Replay(np.zeros((9, 2))).calls(3), "acceptance must have as many .*, 3, got 2"),
    (lambda: Replay([0.5, 0.5]).calls(-1), "gamma must be at least 0, got -1"),
    (lambda: Replay([0.5, 0.5]).blocks(-1), "gamma must be at least 0, got -1"),
    (lambda: Replay([0.5, 0.5], limit=1), "limit must be at least the text's 2 positions, got 1"),
    (lambda: Replay([0.5, 0.5], limit=0), "limit must be at least 1, got 0"),
    (lambda: Replay([0.5, 0.5], limit=3.5), "limit must be an integer, got 3.5"),
    (lambda: Replay([0.5, 0.5], drafted=[1]), r"drafted must have shape \(2,\), got \(1,\)"),
    (lambda: Replay([0.5, 0.5], drafted=[1, -1]), "drafted must be at least 0, got -1"),
    (lambda: expected_tokens(1.2, 3), r"alpha must lie in \[0, 1\], got 1.2"),
    (lambda: expected_tokens(0.5, -1), "gamma must be at least 0, got -1"),
    (lambda: expected_tokens(0.5, 2.5), "gamma must be an integer, got 2.5"),
    (lambda: expected_tokens([0.5, 0.5], [1, 2, 3]), "alpha and gamma must have shapes that"),
    (lambda: alpha_from_accepted_fraction(1.5, 4), "accepted_fraction must lie .*, got 1.5"),
    (lambda: alpha_from_accepted_fraction(0.5, 0), "gamma must be at least 1, got 0"),
    (lambda: alpha_from_accepted_fraction(HALF, [1, 1]), "accepted_fraction and gamma must have"),
    (lambda: alpha_from_block_efficiency(0.9, 4), r"block_efficiency must lie in \[1, gamma \+ 1"),
    (lambda: alpha_from_block_efficiency([2.0, 5.5], 4), r"block_efficiency .* = 5\], got 5.5"),
    (lambda: alpha_from_block_efficiency(2.5, [4, 1]), r"block_efficiency .* = 2\], got 2.5"),
    (lambda: alpha_from_block_efficiency(nan, 4), "block_efficiency must be finite .*, got nan"),
    (lambda: alpha_from_block_efficiency(2.0, 0), "gamma must be at least 1, got 0"),
    (lambda: alpha_from_block_efficiency(HALF + 1, [1, 1]), "block_efficiency and gamma must have"),
    (lambda: Accepted.of_rates([0.5, 1.1]), r"position_acceptance must lie in \[0, 1\]"),
    (lambda: Accepted.of_rates([0.5, 0.3, 0.4]), r"must not rise .* got 0\.4 after 0\.3$"),
    *(
        (
            lambda lenience=lenience: interpolated_alpha({1.0: 0.6, 0.1: 0.9}, lenience=lenience),
            r"lenience must lie in \[0.1, 1\], where alpha was measured",
        )
        for lenience in (0.05, 1.5, 0.0, -1.0, nan)
    ),
    (lambda: interpolated_alpha({}, lenience=0.5), "^alpha_by_lenience must .*, got none$"),
]
CHOICE: Refusals = [
    (
        lambda: advise(np.arange(1, 4), Forecast.exact(np.zeros(2))),
        "law must be of 3 gammas, got medians of shape",
    ),
    (
        lambda: Forecast.normal(np.zeros(2), np.zeros((3, 3))),
        r"covariance must be of 2 means, got shape \(3, 3\)",
    ),
    (lambda: break_even_alpha(COST, max_gamma=0), "max_gamma must be at least 1, got 0"),
    (lambda: schedule({}), "gammas must have at least one batch size, got none"),
    (
        lambda: planned(Iid(0.8), Ratio(0.1), gamma=4, multiple=3),
        "at most 3 or a multiple of it, the layers .*, got 4",
    ),
    *(
        (lambda options=options: planned(Iid(0.5), Ratio(0.1), **options), message)
        for options, message in [
            ({"c_hat": -1}, "c_hat must be finite and at least 0, got -1"),
            ({"gamma": 0}, "gamma must be at least 1, got 0"),
            ({"gamma": 10_001}, "gamma must be at most 10000, got 10001"),
            ({"max_gamma": 0}, "max_gamma must be at least 1, got 0"),
            ({"max_gamma": 1_000_000_000}, "max_gamma must be at most 10000, got 1000000000"),
            ({"near": -0.1}, "near must be finite and at least 0, got -0.1"),
            ({"near": 1}, r"near must lie in \[0, 1\), got 1"),
        ]
    ),
    (lambda: improvement_factor(1.2, 3, 0.1), r"alpha must lie in \[0, 1\], got 1.2"),
    (lambda: improvement_factor(0.5, 3, -0.1), "c must be finite and at least 0, got -0.1"),
    (lambda: improvement_factor(0.5, 1.5, 0.1), "gamma must be an integer, got 1.5"),
    (lambda: improvement_factor([0.5, 0.6], 3, [0.1, 0.2, 0.3]), "alpha and gamma and c must have"),
    (lambda: lower_bound(0.5, nan), "c must be finite and at least 0, got nan"),
    (lambda: lower_bound([0.5, 0.6], [0.1, 0.2, 0.3]), "alpha and c must have shapes"),
    (lambda: operations_factor(0.5, 3, -1), "c_hat must be finite and at least 0, got -1.0"),
    (lambda: operations_factor(nan, 3, 0.1), r"alpha must lie in \[0, 1\], got nan"),
    (lambda: oracle_improvement_factor(-0.1, 0.1), r"alpha must lie in \[0, 1\], got -0.1"),
    (lambda: optimal_gamma(1.2, 0.1, max_gamma=9), r"alpha must lie in \[0, 1\], got 1.2"),
    (lambda: optimal_gamma(0.5, -0.1, max_gamma=9), "c must be finite and at least 0, got -0.1"),
    (lambda: optimal_gamma(0.5, 0.1, max_gamma=0), "max_gamma must be at least 1, got 0"),
    (lambda: optimal_gamma([0.5, 0.6], [0.1] * 3, max_gamma=9), "alpha and c must have shapes"),
]
COSTS: Refusals = [
    (lambda: Ratio(-0.1), "c must be finite and at least 0, got -0.1"),
    (lambda: CostModel({2: 0.1}, 0.1), r"target_seconds must have the point 1, got \[2\]"),
    (lambda: CostModel({}, 0.1), r"target_seconds must have the point 1, got \[\]"),
    (lambda: CostModel({1: 0.0}, 0.1), r"target_seconds\[1\] must be above 0, got 0"),
    (lambda: CostModel({1: 0.1, 4: -2.0}, 0.1), r"target_seconds\[4\] must be finite .*, got -2.0"),
    (lambda: CostModel({1: 0.1, 0: 0.1}, 0.1), "n in target_seconds must be at least 1, got 0"),
    (lambda: CostModel({1: 0.1}, -0.1), "draft_seconds must be finite and at least 0, got -0.1"),
    (lambda: CostModel({1: 0.1}, nan), "draft_seconds must be finite and at least 0, got nan"),
    (lambda: replace(COST, draft_curve={-1: 0.1}), "gamma in draft_curve must be at least 0, got"),
    (lambda: replace(COST, draft_curve={2: -0.1}), r"draft_curve\[2\] must be finite .*, got -0.1"),
    (lambda: COST.verify_seconds(0), "n must be at least 1, got 0"),
    (lambda: COST.checking_seconds(-1), "gamma must be at least 0, got -1"),
    (lambda: COST.drafting_seconds(-1), "gamma must be at least 0, got -1"),
    *(
        (
            lambda sizes=sizes: forward_seconds(
                LLAMA_8B, PAIR.hardware, **{"new_tokens": 1, "context": 10, "batch": 1} | sizes
            ),
            message,
        )
        for sizes, message in [
            ({"new_tokens": 0}, "new_tokens must be at least 1, got 0"),
            ({"context": -1}, "context must be at least 0, got -1"),
            ({"batch": 0}, "batch must be at least 1, got 0"),
            ({"batch": 1.5}, "batch must be an integer, got 1.5"),
            ({"new_tokens": [1, 2], "batch": [1, 2, 3]}, "broadcast together"),
        ]
    ),
    (lambda: Conditions(tp=0), "tp must be at least 1, got 0"),
    (lambda: Conditions(efficiency=0.0), "efficiency must be above 0, got 0"),
    (lambda: Conditions(efficiency=1.2), r"efficiency must lie in \[0, 1\], got 1.2"),
    (lambda: Conditions(expert_reuse=-0.1), r"expert_reuse must lie in \[0, 1\], got -0.1"),
    (lambda: Conditions(layer_overhead_seconds=-1e-6), "layer_overhead_seconds must be .* least 0"),
    (lambda: distinct_experts(-1, experts=8, active=2), "tokens must be at least 0, got -1"),
    (lambda: distinct_experts(3, experts=0, active=2), "experts must be at least 1, got 0"),
    (lambda: distinct_experts(3, experts=8, active=0), "active must be at least 1, got 0"),
    (lambda: distinct_experts(3, experts=8, active=9), "active must be at most the 8 .*, got 9"),
    (lambda: distinct_experts(3, experts=8, active=2, reuse=1.5), r"reuse must lie .*, got 1.5"),
    (lambda: require_division(LLAMA_8B, 3), r"tp must divide the 32 heads of LlamaFor.*, got 3"),
    (lambda: replace(PAIR, draft_tp=3), r"tp must divide the 32 heads of Llama.*, got 3"),
    (
        lambda: all_reduce_seconds(find_hardware("m4-max"), values=1, gpus=2),
        "tp must be 1 on m4-max, which has no known link, got 2",
    ),
    *(
        (
            lambda zero=zero: own_hardware(
                **{"flops": 1e14, "bandwidth": 1e12, "memory_bytes": 1e10, zero: 0.0}
            ),
            f"gpu {zero.removesuffix('_bytes')} must be above 0, got 0",
        )
        for zero in ("flops", "bandwidth", "memory_bytes")
    ),
    (lambda: find_hardware("t4").flops("bfloat16"), r"dtype must .* t4 .*float16.*got bfloat16"),
    (
        lambda: roofline_cost(replace(PAIR, hardware=find_hardware("t4")), context=512),
        "got bfloat16",
    ),
    (lambda: find_format("int3"), r"dtype must be one of float32, .*, got int3"),
    (lambda: NumberFormat("int4", 4, 0, 2.0, "fp4"), "group must be at least 1, got 0"),
    (
        lambda: draft_pass_seconds(
            replace(PAIR, draft=replace(DRAFT, parallel=True)), context=1, batch=1, widest=2
        ),
        "a draft that drafts token by token, got EAGLE-3",
    ),
    (lambda: draft_pass_seconds(PAIR, context=1, batch=1, widest=0), "widest must be at least 1"),
    (lambda: published_prior(Traits("vllm", "eagle")), "draft must be one of EAGLE, .*, got eagle"),
    (lambda: work(speed=1.0), r"parameter must be one of roof, .*, got speed"),
    (lambda: LoadPoint(0, batch=0), "batch must be at least 1, got 0"),
    (lambda: Run(LOAD, 0.004, -1), "gamma must be at least 1, got -1"),
    (lambda: Run(LOAD, 0.0, 3, 2.0), "tpot must be above 0 ms, got 0"),
    (lambda: Run(LOAD, nan, 3, 2.0), "tpot must be above 0 ms, got nan"),
    (lambda: Run(LOAD, 7.1), r"tpot must lie in \[0.02, 2000\] milliseconds a token \(is its unit"),
    (lambda: Run(LOAD, 7.1e-6), r"is its unit right\?\), got 0.0071"),
    (lambda: Run(LOAD, 0.004, 3, 4.1), r"length must lie in \[1, 4\], .* 3, got 4.1"),
    (lambda: Run(LOAD, 0.004, 3, 0.9), r"length must lie in \[1, 4\], .* 3, got 0.9"),
    (lambda: Run(LOAD, 0.004, 0, 1.5), r"length must lie in \[1, 1\], .* gamma 0, got 1.5"),
    (
        lambda: Run(LOAD, 0.007, error=0.01, length_error=0.02),
        r"length_error must lie in \[0, error",
    ),
    (lambda: Run(LOAD, 0.007, error=1.0), r"error must lie in \[0, 100\) %, got 100"),
    (lambda: Run(LOAD, 0.007, error=-0.01), r"error must lie in \[0, 100\) %, got -1"),
    (lambda: Run(LOAD, 0.007, error=nan), r"error must lie in \[0, 100\) %, got nan"),
]
TREES = best_trees([0.5, 0.1], max_nodes=3, max_depth=2)
COMPUTED = "nodes and depth 2 must be one of those computed, up to 3 nodes and depth 2"
SCHEMES: Refusals = [
    (lambda: BeamCost(4, 2, {1: 1.0}, {1: 1.0}), "draft_width must be at least width, 4, got 2"),
    (lambda: BeamCost(0, 2, {1: 1.0}, {1: 1.0}), "width must be at least 1, got 0"),
    (lambda: BeamCost(1, 2, {2: 1.0}, {1: 1.0}), "target_seconds must have the point 1"),
    (
        lambda: hierarchical_cost(Ratio(0.1), inner=Ratio(0.1), alpha=1.5, gamma=2),
        r"alpha must lie in \[0, 1\], got 1.5",
    ),
    (
        lambda: hierarchical_cost(Ratio(0.1), inner=Ratio(0.1), alpha=0.5, gamma=-1),
        "gamma must be at least 0, got -1",
    ),
    (
        lambda: choose_tree([0.5], Passes(Ratio(0.1), {1: 1.0}), max_depth=0),
        "^max_depth must be at least 1, got 0",
    ),
    (lambda: Passes(Ratio(0.1), {1: 1.0, 0: 1.0}), "^n in draft_seconds must be at least 1"),
    (lambda: Passes(Ratio(0.1), {1: 1.0, 2: -1.0}), r"^draft_seconds\[2\] must be finite"),
    (lambda: Passes(Ratio(0.1), {2: 1.0}), "^draft_seconds must have the point 1"),
    (lambda: tree_tokens((1,), [0.5]), "parents must be earlier nodes or -1, got 1 for node 0"),
    (lambda: tree_tokens((0,), [0.5]), "parents must be earlier nodes or -1, got 0 for node 0"),
    (lambda: tree_tokens((-2,), [0.5]), "parents must be at least -1, got -2"),
    (lambda: tree_tokens((-1,), [0.9, 0.2]), "rates by rank .* at most 1, got 2 of sum 1.1"),
    (lambda: tree_tokens((-1,), [[0.5], [0.1]]), "acceptance must be rates by rank"),
    (lambda: tree_tokens((-1,), []), "acceptance must be rates by rank"),
    (lambda: tree_tokens((-1,), [1.5]), r"acceptance must lie in \[0, 1\], got 1.5"),
    (lambda: best_trees([0.5], max_nodes=0, max_depth=1), "max_nodes must be at least 1"),
    (lambda: best_trees([0.5], max_nodes=1, max_depth=0), "max_depth must be at least 1"),
    (lambda: best_trees([0.5], max_nodes=3, max_depth=2).parents(3, 2), f"a tree of 3 {COMPUTED}"),
    (lambda: TREES.parents(4, 2), f"a tree of 4 {COMPUTED}"),
    (lambda: TREES.parents(2, 3), "depth 3 must be"),
    (lambda: TREES.parents(-1, 2), "^nodes must"),
    (lambda: TREES.parents(1, -1), "^depth must"),
    (lambda: chain(-1), "^gamma must be at least 0, got -1"),
    (lambda: TreeAcceptance((0.5,), {1: (-1, -1)}), r"shapes\[1\] must have 1 nodes, got 2"),
    (lambda: TreeAcceptance((0.5,), {2: chain(2)}).tokens_per_call(1), "a tree of 1 nodes"),
    (lambda: TreeAcceptance((0.5,), {2: chain(2)}).tokens_per_call(-1), "^gamma must be at least"),
]


def trace(text: str) -> Requests:
    return read_trace(text.splitlines(), name="trace.csv")


TRAFFIC: Refusals = [
    *(
        (lambda rows=rows: trace(f"time,prompt_tokens,output_tokens\n{rows}"), message)
        for rows, message in [
            ("", "trace must have at least one request, got none"),
            ("2,5,5\n1,5,5", "trace must be sorted by time, got 1 after 2"),
            ("-1,5,5", "time of a request must be finite and at least 0, got -1"),
            ("nan,5,5", "time of a request must be finite and at least 0, got nan"),
            ("0,0,5", "prompt_tokens of a request must be at least 1, got 0"),
            ("0,5,-3", "output_tokens of a request must be at least 1, got -3"),
            ("0,five,5", "prompt_tokens in line 2 of .* must be a number, got 'five'"),
            ("0,5,nan", "output_tokens in line 2 of .* must be a number, got 'nan'"),
            ("0,5", "output_tokens in line 2 of .* must be a number, got 'nothing'"),
        ]
    ),
    (lambda: trace("time,prompt_tokens\n0,1\n"), "got no output_tokens"),
    (lambda: trace(""), "got no time"),
    (
        lambda: trace("time,prompt_tokens,output_tokens\n3,5,5\n").rate,
        "trace must last longer than 0 seconds",
    ),
    (lambda: Demand(10, 0), "output_tokens must be at least 1, got 0"),
]


@pytest.mark.parametrize(("call", "message"), [*ACCEPTANCE, *CHOICE, *COSTS, *SCHEMES, *TRAFFIC])
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
