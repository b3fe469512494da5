"""Ways to state acceptance, one file each: its options and the acceptance made of them."""
