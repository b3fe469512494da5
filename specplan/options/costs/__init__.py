"""What blocks cost, a file for each way to state it: its options, and the costs made of them."""
