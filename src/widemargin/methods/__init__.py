"""How a problem is solved: one file a method."""
