"""The words of `_feedback`, by subject. What a model reads from us is written there and here, and nowhere else."""
