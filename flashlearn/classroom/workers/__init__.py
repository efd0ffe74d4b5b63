"""Who grades many submissions: a pool of worker processes on this machine, or a Dask cluster."""
