"""Shapes of models, peak rates of hardware, and the times of passes by the roofline."""
