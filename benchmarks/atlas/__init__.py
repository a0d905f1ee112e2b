"""The map of shapes: how `solver="auto"` does over generated problems of every shape."""
