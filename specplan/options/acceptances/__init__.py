"""Options that state acceptance: one file for each way, with the acceptance that it gives."""
