"""Models: known rules with a network, and learned dynamics, behind one protocol."""

from halfmove.models.learned import Learned, Spec
from halfmove.models.model import Outputs, Trainable, Variables
from halfmove.models.rules import Rules

__all__ = ["Learned", "Outputs", "Rules", "Spec", "Trainable", "Variables"]
