"""N-gram training, ARPA files, full-vocabulary rows and n-gram drafters."""
