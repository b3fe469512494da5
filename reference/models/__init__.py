"""Models that decoding runs on: the protocol, transformers behind it, the embedded pair, a toy."""
