"""Figures 1 to 4 of the paper on BMRM and Pragam, on the sets at hand."""
