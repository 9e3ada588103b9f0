"""The process: two listeners, their health and metrics, and an orderly end."""
