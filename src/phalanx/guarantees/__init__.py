"""What releases promise, and the checks of it from published files."""
