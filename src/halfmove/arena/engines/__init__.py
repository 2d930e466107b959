"""Outside engines as players, by GTP, HTP, UCI and USI; `line.py` says how one is named."""

from halfmove.arena.engines.engine import RESIGN, Engine
from halfmove.arena.engines.fault import REASONS, EngineFault
from halfmove.arena.engines.line import Line, is_engine, read

__all__ = ["REASONS", "RESIGN", "Engine", "EngineFault", "Line", "is_engine", "read"]
