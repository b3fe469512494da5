"""`python -m specplan`: runs the program."""

import sys
from pathlib import Path

# First on the path, so that a folder with a simulator.py of its own does not hide specplan's.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from specplan.main import main

main()
