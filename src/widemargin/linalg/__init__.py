"""Linear algebra written once, for one right-hand side and for several."""
