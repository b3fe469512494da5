"""Ways to state costs, one file each: its options and the costs made of them."""
