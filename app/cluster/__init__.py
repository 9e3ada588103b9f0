"""The cluster: the only package that imports the Kubernetes client.

Nothing is re-exported here, so that a server without a cluster (:mod:`app.cluster.memory`) never pays for the client.
"""
