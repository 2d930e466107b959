"""Models: known rules with a network, learned dynamics, action values, behind one protocol."""

from halfmove.models.learned import Learned, Spec
from halfmove.models.model import Outputs, Trainable, Variables
from halfmove.models.qvalues import QValues
from halfmove.models.rules import Rules

__all__ = ["Learned", "Outputs", "QValues", "Rules", "Spec", "Trainable", "Variables"]
