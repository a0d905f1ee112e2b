"""Judges certificates in rational and ball arithmetic, apart from the library's kernels."""
