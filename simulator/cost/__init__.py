"""What a block takes: measured curves (Theorem 8 a case of them) and rooflines."""
