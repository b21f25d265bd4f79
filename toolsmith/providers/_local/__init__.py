"""What `local.py` runs in this process: embeddings that route, a small language model that fills in, plain rules."""
