"""Decoding engines that others wrote (vLLM, llama.cpp, transformers): started, run and priced."""
