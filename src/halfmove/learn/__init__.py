"""From samples of play to a better network: targets, losses, updates, reanalysis."""
