"""Servers under load: steady state in closed form, simulation, and the draft length to use."""
