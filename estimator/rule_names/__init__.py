"""The kinds of acceptance rules, one file each, as `--verification` names them."""
