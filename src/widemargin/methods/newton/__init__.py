"""Newton's method, plain and proximal."""
