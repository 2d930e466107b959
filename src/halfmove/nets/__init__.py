"""Networks: towers, heads, the two-hot scalar support."""

from halfmove.nets.config import NetConfig
from halfmove.nets.support import HeadConfig

__all__ = ["HeadConfig", "NetConfig"]
