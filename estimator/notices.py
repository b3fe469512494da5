"""What a user should know of a run that goes on all the same."""

import warnings


class Notice(UserWarning):
    """Something that was left out, cut or replaced; the command line prints it as a warning."""


def notice(message: str) -> None:
    """Tells a user something, by Python's own warnings."""
    warnings.warn(message, Notice, stacklevel=2)
