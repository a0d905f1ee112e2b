"""Which method runs: policies, their causes, and the machine's numbers."""
