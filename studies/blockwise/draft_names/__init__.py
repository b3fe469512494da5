"""How users name blockwise heads as a drafter."""
