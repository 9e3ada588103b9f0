"""Is this installation healthy: one finding for each thing that can be wrong, with what to do about it."""
