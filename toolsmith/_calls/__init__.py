"""One checked call, carried out: run within its deadline, and its end turned into what the model is told."""
