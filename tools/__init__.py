"""What a model may do. Knows storage and netlify; never an actor."""
