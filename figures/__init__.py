"""The papers' figures and tables: one file each, compute() and draw()."""
