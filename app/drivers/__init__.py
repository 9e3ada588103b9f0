"""Driver profiles: what each DRA driver publishes, as data files, and the model that validates them."""

from app.drivers.load import builtin_profiles, load_profiles
from app.drivers.model import CapacityProfile, DriverProfile, MigProfile, ProfileError

__all__ = ["CapacityProfile", "DriverProfile", "MigProfile", "ProfileError", "builtin_profiles", "load_profiles"]
