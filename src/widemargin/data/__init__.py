"""Data as it came: validation, row views, files."""
