"""Mistakes that models make, sent to a tool's own check, to see what the model would read. Nothing is executed.

Public as `toolsmith.testing.simulate`, and as the command `toolsmith simulate`.
"""
