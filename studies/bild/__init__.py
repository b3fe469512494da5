"""Big Little Decoder (Kim et al. 2023): its policy, rule, costs and sweeps over thresholds."""
