"""Big Little Decoder (BiLD, Kim et al. 2023): loop, decisions, costs, sweeps, default settings."""

FALLBACKS = (0.3, 0.5, 0.7, 0.9)
ROLLBACKS = (1.0, 2.0, 4.0)
# Lenience of the speculative decoding that BiLD is compared with.
LENIENCE = 0.5
CERTAINTY = "probability"
DISTANCE = "cross-entropy"
# Most tokens in a row that the small model writes in the paper's runs (section 7.1.2).
PAPERS_MOST = 10
# Thresholds of Figure 3, for decoding one text.
ONE_FALLBACK = 0.6
ONE_ROLLBACK = 2.0
