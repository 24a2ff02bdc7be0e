"""A review server that runs beside the tests."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanmix_cli.report.decisions import Decisions, open_decisions
from scanmix_cli.review.app import Review
from scanmix_cli.review.pictures import Pictures
from scanmix_cli.review.queue import read_queue
from scanmix_cli.review.server import bind, make_server


@dataclass(frozen=True)
class Site:
    """A running review server and its run."""

    address: str
    run: Path
    log: Decisions

    def ask(self, path: str = "", body: Any = None, **headers: str) -> tuple[int, bytes]:
        """Status and content; `body` goes out as JSON, bytes as they are. An absolute `path` replaces the address."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        address = path if path.startswith("http:") else self.address + path
        try:
            with urllib.request.urlopen(urllib.request.Request(address, sent, named), timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def json(self, path: str, body: Any = None) -> Any:
        """The answer to a request that is granted."""
        status, content = self.ask(path, body)
        assert status == 200, content
        return json.loads(content)

    def decide(self, *choices: tuple[int, str, int | None], after: int = 0) -> Any:
        """Record (row, decision, class number) as the page does."""
        named = [{"row": row, "decision": decision, "label": label} for row, decision, label in choices]
        return self.json("decisions", {"after": after, "choices": named})


@contextmanager
def running(run: Path, folders: tuple[Path, ...] = ()) -> Iterator[Site]:
    """The server of a run, in a thread of its own."""
    queue = read_queue(run)
    with open_decisions(run) as log:
        bound = bind(0)
        server, address = make_server(Review(queue, log, Pictures(queue.paths, [queue.root, *folders]), "ada"), bound)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield Site(address, run, log)
        finally:
            server.should_exit = True
            thread.join()
            bound.close()
