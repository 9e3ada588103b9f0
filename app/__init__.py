"""A mutating admission webhook that lets legacy GPU manifests run on Dynamic Resource Allocation."""
