"""Times of blocks: measured curves, rooflines, measured kernels and fitted parameters."""
