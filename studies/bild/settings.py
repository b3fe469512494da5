"""What BiLD is run with where nothing else is said (Kim et al. 2023)."""

FALLBACKS = (0.3, 0.5, 0.7, 0.9)
ROLLBACKS = (1.0, 2.0, 4.0)
# Of speculative decoding beside it.
LENIENCE = 0.5
CERTAINTY = "probability"
DISTANCE = "cross-entropy"
# Figure 3's, where one text is decoded.
ONE_FALLBACK = 0.6
ONE_ROLLBACK = 2.0
