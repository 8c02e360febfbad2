"""The gate, through the real actors, storage and Claude client: what must be asked about is, and nothing else."""
