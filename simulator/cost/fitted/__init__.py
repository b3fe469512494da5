"""Costs with uncertain parameters: a prior from public measurements, updated by a user's runs."""
