"""The same problems on Dask: blocks on workers, sums in the same fixed order."""
