"""What the machine that runs the tests must not decide: colours, widths, proxies, clusters, the pace of examples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_OF_THE_MACHINE = {
    "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "KUBECONFIG", "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT", "LINES", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE",
}  # fmt: skip
"""Read by the program under test, or by the libraries that print for it; tests that are about them set them."""

for name in [name for name in os.environ if name in _OF_THE_MACHINE or name.startswith("HAMI_DRA_")]:
    del os.environ[name]
os.environ["TERM"] = "xterm"  # a runner without a terminal says "dumb", and shows no progress then
for name in ("NO_PROXY", "no_proxy"):  # a proxy for the outside world has no business on loopback
    os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))

settings.register_profile("any machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
