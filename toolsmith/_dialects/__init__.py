"""The forms in which services take a schema, and the way back for arguments; its door is `toolsmith.dialects`."""
