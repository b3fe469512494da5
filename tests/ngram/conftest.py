"""What the tests of n-gram models share: corpora, a tokenizer, models."""

import sys
from pathlib import Path

# The reference decoder's laboratory: exact laws, enumerated.
sys.path.append(str(Path(__file__).parent.parent / "reference"))
