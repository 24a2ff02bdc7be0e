"""The local page's server: on 127.0.0.1 alone, until Ctrl-C."""

import socket
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import closing

import uvicorn
from PIL import Image

from scanmix_cli.data.decode import AnimationWarning
from scanmix_cli.errors import SettingsError
from scanmix_cli.review.app import Review, make_app
from scanmix_cli.review.guard import new_token

HOST = "127.0.0.1"
GRACE = 2  # seconds for answers under way when the server stops


def bind(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0 is any free one. SettingsError where the port is taken."""
    # asyncio sends small answers at once only on sockets that say they are TCP; else each takes 40 ms
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise SettingsError(
            f"port {port} of {HOST} cannot be had ({error.strerror}); name another --port or leave it out"
        ) from None
    return bound


def serve(review: Review, port: int, announce: Callable[[str], None], *, browser: bool) -> None:
    """Answer requests until Ctrl-C; `announce` is told the address once it can be opened."""
    warnings.simplefilter("ignore", AnimationWarning)
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    with closing(bind(port)) as bound:
        server, address = make_server(review, bound)
        announce(address)
        if browser:
            webbrowser.open(address)
        try:
            server.run(sockets=[bound])
        except KeyboardInterrupt:
            return


def make_server(review: Review, bound: socket.socket) -> tuple[uvicorn.Server, str]:
    """A server for the socket and the address of the page, which can be opened at once and is answered once it runs."""
    token, port = new_token(), bound.getsockname()[1]
    config = uvicorn.Config(
        make_app(review, token, port),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    bound.listen(config.backlog)
    return uvicorn.Server(config), f"http://{HOST}:{port}/{token}/"
