"""Options that state costs: one file for each way, with the costs that it gives."""
