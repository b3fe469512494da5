"""Model and drafter protocols, decoders, verifier and the embedded models."""
