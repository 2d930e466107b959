"""Play against a trained network."""
