"""Every formula of speculative decoding; depends only on numpy and scipy.

A number that is out of range, or none at all, is refused with name, rule and value: a ValueError.
"""
