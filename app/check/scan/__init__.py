"""The scan: what would happen to every workload of a cluster, by the very translation that the webhook uses."""
