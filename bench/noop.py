"""The floor: a FastAPI route that reads the raw body and returns a fixed review, on the webhook's own server settings.

``python bench/noop.py CERTIFICATE KEY SOCKET``, the last being the number of an inherited listening socket.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastapi import FastAPI, Request, Response

ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"1","allowed":true}}'

app = FastAPI(openapi_url=None)


@app.post("/mutate")
async def mutate(request: Request) -> Response:
    """Reads everything, does nothing."""
    await request.body()
    return Response(ANSWER, media_type="application/json")


if __name__ == "__main__":
    certificate, key, listener = sys.argv[1:]
    config = uvicorn.Config(
        app,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=120,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(listener))])
