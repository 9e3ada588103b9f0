"""What the cluster offers and has given away: which devices a request matches, and whether a pod's claims fit now."""

from app.inventory.answers import Fit, Match
from app.inventory.inventory import Inventory
from app.inventory.model import InventoryError

__all__ = ["Fit", "Inventory", "InventoryError", "Match"]
