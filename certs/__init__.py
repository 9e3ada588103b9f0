"""Certificates of the webhook listener: where they come from and how they are served. Knows nothing of pods."""
