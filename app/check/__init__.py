"""Looks at a whole cluster: is the installation healthy, and what would become of its workloads."""
