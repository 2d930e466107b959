"""From a configuration to a trained network: presets, the run's folder, the loop."""
