"""Tables and figures of the papers, computed again."""
