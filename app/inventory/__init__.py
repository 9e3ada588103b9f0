"""What the cluster offers and has given away: which devices a request matches, and whether a pod's claims fit now."""
