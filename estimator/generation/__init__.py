"""One text, decoded as it is watched: by the pair, by the target alone, by beams."""
