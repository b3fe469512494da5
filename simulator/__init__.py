"""Every formula of speculative decoding, in numpy and scipy alone.

A number that is out of range, or none at all, is refused with name, rule and value: a ValueError.
"""
