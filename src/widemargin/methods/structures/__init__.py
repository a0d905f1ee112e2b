"""Methods for structured outputs."""
