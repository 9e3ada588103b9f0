"""Starts a standalone webhook, sends it the pods of ``examples/workloads`` as the API server would, and explains.

``python -m examples.run [--once] [--port N] [--ops-port N]``; without ``--once`` the server stays until Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import webbrowser
from pathlib import Path

from rich.console import Console

from examples.explain import explain, templates_of
from examples.reviews import reviews_of
from examples.server import ServerError, StandaloneServer

HERE = Path(__file__).parent
CONFIG = HERE / "settings.yaml"
WORKLOADS = HERE / "workloads"
_WIDTH_OF_FILES = 200
"""Columns where the output is no terminal, so that nothing is folded."""


def main() -> int:
    """Run the examples; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--once", action="store_true", help="stop when everything is printed")
    parser.add_argument("--port", type=int, default=0, help="of the webhook; any free one unless given")
    parser.add_argument("--ops-port", type=int, default=0, help="of health and metrics; any free one unless given")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell starts what runs in the background with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            StandaloneServer(CONFIG, Path(folder), options.port, options.ops_port) as server,
        ):
            show(console, server)
            if options.once:
                return 0
            open_page(f"{server.ops_url}/")
            console.print("The server runs until Ctrl-C.", style="bold")
            return server.wait()
    except ServerError as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped")
        return 0


def show(console: Console, server: StandaloneServer) -> None:
    """Send every example, print every answer."""
    templates = templates_of(WORKLOADS, CONFIG)
    for file in sorted(WORKLOADS.glob("*.yaml")):
        for title, review in reviews_of(file):
            explain(console, title, review, server.ask(review), templates)
    console.print(f"webhook  {server.url}  (trust {server.certificate})", soft_wrap=True)
    console.print(f"health   {server.ops_url}/readyz?verbose\nmetrics  {server.ops_url}/metrics", soft_wrap=True)
    console.print("preview  .venv/bin/hami-dra-webhook preview YOUR.yaml", soft_wrap=True)
    console.print(f"page     {server.ops_url}/  (paste your manifests there)", soft_wrap=True)


def open_page(url: str) -> None:
    """Open the preview page where a person with a desktop is watching; elsewhere the printed address has to do."""
    if sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(url)


if __name__ == "__main__":
    sys.exit(main())
