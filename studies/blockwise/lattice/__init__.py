"""The lattice of tokens that blockwise heads span: rescoring, best paths, drafts made of them."""
