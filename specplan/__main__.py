"""`python -m specplan`: the program, for launchers that start modules."""

from specplan.main import main

main()
