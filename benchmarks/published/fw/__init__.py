"""Figure 1 of the Frank-Wolfe paper (FW): dna, usps, kr-vs-kp."""
