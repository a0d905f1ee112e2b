"""Methods as the papers describe them."""
