"""The formulas of speculative decoding; depends only on numpy and scipy.

Each function checks its arguments: a ValueError names the argument, the rule and the value.
"""
