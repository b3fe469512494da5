"""Every formula of speculative decoding, in numpy and scipy alone."""
