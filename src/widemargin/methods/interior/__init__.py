"""Interior-point methods."""
