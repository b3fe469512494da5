"""Big Little Decoder: its sweeps over thresholds, predicted and measured, quality beside speed."""
