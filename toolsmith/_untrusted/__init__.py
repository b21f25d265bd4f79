"""Text that others have written: how it is fenced off for the model, and how pieces of it are found again in a call."""
