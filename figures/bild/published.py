"""Tables 1, 3, 4 and 5 of Kim et al. 2023, as printed."""

from __future__ import annotations

# Dataset -> method -> (BLEU or ROUGE-L, speed-up over vanilla inference).
TABLE1 = {
    "IWSLT": {
        "vanilla": (40.32, 1.0),
        "unaligned, no loss": (40.33, 1.43),
        "unaligned, 1 point": (39.44, 1.58),
        "aligned, no loss": (40.24, 1.62),
        "aligned, 1 point": (39.13, 1.78),
    },
    "WMT": {
        "vanilla": (31.38, 1.0),
        "unaligned, no loss": (31.28, 1.34),
        "unaligned, 1 point": (30.47, 1.43),
        "aligned, no loss": (31.26, 1.47),
        "aligned, 1 point": (30.33, 1.70),
    },
    "XSUM": {
        "vanilla": (35.08, 1.0),
        "unaligned, no loss": (35.12, 1.48),
        "unaligned, 1 point": (34.02, 1.72),
        "aligned, no loss": (35.05, 1.50),
        "aligned, 1 point": (33.95, 1.80),
    },
    "CNN/DailyMail": {
        "vanilla": (41.54, 1.0),
        "unaligned, no loss": (41.44, 1.71),
        "unaligned, 1 point": (40.57, 2.05),
        "aligned, no loss": (41.52, 1.85),
        "aligned, 1 point": (40.96, 2.12),
    },
}

TABLE3 = {
    "IWSLT": {
        "vanilla": (40.32, 1.0),
        "rejection sampling": (39.93, 1.28),
        "BiLD, its latency": (40.54, 1.23),
        "BiLD, its quality": (39.87, 1.49),
    },
    "XSUM": {
        "vanilla": (35.08, 1.0),
        "rejection sampling": (35.00, 1.25),
        "BiLD, its latency": (35.30, 1.42),
        "BiLD, its quality": (34.96, 1.50),
    },
}

# Dataset -> method -> (quality, speed-up, % fallback, % rollback).
TABLE4 = {
    "IWSLT": {
        "rejection sampling": (39.93, 1.28, 23.24, 9.81),
        "BiLD": (40.33, 1.43, 21.09, 1.56),
    },
    "XSUM": {
        "rejection sampling": (35.00, 1.25, 36.84, 24.24),
        "BiLD": (35.12, 1.48, 32.33, 6.41),
    },
}

# Nucleus sampling, p = 0.8.
TABLE5 = {
    "IWSLT": {
        "vanilla": (39.24, 1.0),
        "BiLD": (39.72, 1.51),
        "BiLD, no loss": (39.26, 1.63),
        "BiLD, 1 point": (38.27, 1.80),
    },
    "XSUM": {
        "vanilla": (34.00, 1.0),
        "BiLD": (34.34, 1.22),
        "BiLD, no loss": (34.04, 1.45),
        "BiLD, 1 point": (33.10, 1.85),
    },
}
