"""The sandbox: what runs in it finds nothing, reaches nothing and leaves nothing."""
