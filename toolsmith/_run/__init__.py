"""A run: the loop as a generator, its budgets and breaker, its line to the model, and the drivers that wait for it."""
