"""Who may talk to the local page: whoever knows the token, from this machine, from the page itself.

Other programs of this machine and other sites in the same browser can reach a port of 127.0.0.1 too. The token in the
address keeps the first out; the checks of Host (another name that resolves to 127.0.0.1), of Origin and of
Sec-Fetch-Site keep out the second, even if the token should become known.
"""

import secrets

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def new_token() -> str:
    """256 bits as text that can stand in an address."""
    return secrets.token_urlsafe(32)


class Guard:
    """Passes on requests below `/TOKEN/` from `127.0.0.1:port`; refuses all others with 403."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        reason = self.refusal(scope)
        answer = self.app if reason is None else PlainTextResponse(f"refused: {reason}\n", status_code=403)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await answer(scope, receive, send_guarded)

    def refusal(self, scope: Scope) -> str | None:
        """Why the request is refused, None where it is not."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value.decode("latin-1"))
        if len(headers.get(b"host", [])) != 1 or headers[b"host"][0] not in self.hosts:
            return "the address names another host than the one that the command printed"
        origins = {f"http://{host}" for host in self.hosts}
        if not origins.issuperset(headers.get(b"origin", [])):
            return "it comes from another page"
        if not {"same-origin", "none"}.issuperset(headers.get(b"sec-fetch-site", [])):
            return "it comes from another page"
        given = scope["path"].partition("/")[2].partition("/")[0].encode("utf-8", "surrogatepass")
        if not secrets.compare_digest(given, self.token.encode()):
            return "the token in the address is missing or wrong; open the address that the command printed"
        return None
