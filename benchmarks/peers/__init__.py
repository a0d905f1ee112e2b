"""The rivals, one file each.

A file is imported only inside a worker process (`benchmarks.worker`), so a rival that does not
install, or that needs another interpreter, costs its own rows of the table and nothing else.
"""

RIVALS = ("liblinear", "scikit_learn", "snap_ml", "re_hline", "lightning", "sk_glm")
WIDEMARGIN = "widemargin_auto"
