"""Arguments as models send them: read, checked, mended where the meaning is certain, and every problem found."""
