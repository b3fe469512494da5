"""Blockwise heads: networks on a model's last state that predict the tokens ahead; their files."""
