"""Times of blocks: measured curves (Theorem 8 is a special case) and rooflines."""
