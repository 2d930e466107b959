"""Planner x game -> trajectories, many games at once, on the device."""

from halfmove.selfplay.play import NEVER, Lanes, Report, SelfPlay

__all__ = ["NEVER", "Lanes", "Report", "SelfPlay"]
