"""Tables and figures of the papers, computed again."""
"""Tables and figures of the papers, regenerated."""
