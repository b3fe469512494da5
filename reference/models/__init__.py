"""Models that decoding runs on: the protocol, transformers models, and the embedded pair."""
