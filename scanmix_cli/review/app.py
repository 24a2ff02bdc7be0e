"""The local page's addresses, all below the token: the page, its suspects, pictures, decisions, CSV out and in."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from scanmix_cli.data.decode import DecodeError
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.errors import DataError, ScanmixError
from scanmix_cli.report.decisions import Decision, Decisions
from scanmix_cli.review.guard import Guard
from scanmix_cli.review.pictures import SIZES, OutsideError, Pictures
from scanmix_cli.review.queue import Queue

STATIC = Path(__file__).with_name("static")
SOURCE = "review"
LARGEST_BODY = 64 * 2**20
FRESH = {"Cache-Control": "no-store"}


class Review:
    """What the addresses answer."""

    def __init__(self, queue: Queue, log: Decisions, pictures: Pictures, who: str) -> None:
        self.queue, self.log, self.pictures, self.who = queue, log, pictures, who
        self._payload = queue.payload(who)

    def routes(self) -> list[Route | Mount]:
        """All addresses, relative to the token."""
        return [
            Route("/", self.page),
            Route("/suspects", self.suspects),
            Route("/picture/{row:int}/{size}", self.picture),
            Route("/decisions", self.changes),
            Route("/decisions", self.decide, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/decisions.csv", self.export),
            Route("/import", self.import_csv, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    def page(self, _: Request) -> Response:
        return FileResponse(STATIC / "page.html", headers=FRESH)

    def suspects(self, _: Request) -> Response:
        return Response(self._payload, media_type="application/json", headers=FRESH)

    def picture(self, request: Request) -> Response:
        row, size = request.path_params["row"], request.path_params["size"]
        if size not in SIZES or not 0 <= row < len(self.queue.paths):
            raise HTTPException(404, "there is no such picture")
        try:
            encoded = self.pictures.get(row, size)
        except OutsideError as error:
            raise HTTPException(403, str(error)) from None
        except DecodeError as error:
            raise HTTPException(404, error.message) from None
        headers = {"Cache-Control": "private, max-age=3600"}
        return Response(encoded.content, media_type=encoded.media_type, headers=headers)

    def changes(self, request: Request) -> Response:
        """What was decided after the entry that the page knows, whoever decided it."""
        return self._answer(_number(request.query_params.get("after", "0")))

    async def decide(self, request: Request) -> Response:
        """{after, choices: [{row, decision, label}]}: recorded before the answer goes out, all of them or none."""
        body = await _json(request)
        try:
            choices = [
                self.queue.choice(_number(item["row"]), str(item["decision"]), _label(item.get("label")))
                for item in body["choices"]
            ]
            after = _number(body["after"])
        except (KeyError, TypeError) as error:
            raise HTTPException(400, f"no decision that can be read ({error})") from None

        def record() -> Response:
            before = self.log.since(after)[1]
            made = self.log.record_all(choices, who=self.who, source=SOURCE)
            overtaken = [old for entry in made if (old := before.get(entry.row)) is not None]
            return self._answer(after, made=[entry.id for entry in made], overtaken=self._listed(overtaken))

        return await run_in_threadpool(record)

    async def undo(self, request: Request) -> Response:
        """{after, entries: [[row, id]]}: takes those back that still stand; `later` are rows decided anew since."""
        body = await _json(request)
        try:
            entries = {_number(row): _number(entry) for row, entry in body["entries"]}
            after = _number(body["after"])
        except (KeyError, TypeError, ValueError) as error:
            raise HTTPException(400, f"nothing that can be taken back ({error})") from None

        def take_back() -> Response:
            stands = self.log.current()
            ours = [row for row, entry in entries.items() if row in stands and stands[row].id == entry]
            for row in ours:
                self.log.undo(row=row, who=self.who)
            return self._answer(after, undone=ours, later=[row for row in entries if row not in ours])

        return await run_in_threadpool(take_back)

    def export(self, _: Request) -> Response:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "decisions.csv"
            self.log.export_csv(path)
            content = path.read_bytes()
        headers = FRESH | {"Content-Disposition": 'attachment; filename="decisions.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def import_csv(self, request: Request) -> Response:
        """The body is the file."""
        content = await _body(request)

        def take_in() -> Response:
            with TemporaryDirectory() as folder:
                path = Path(folder) / "the file"
                path.write_bytes(content)
                names = self.queue.report["filename"].tolist()
                training = (self.queue.report["split"] == TRAIN).tolist()
                try:
                    done = self.log.import_csv(
                        path, names, self.queue.classes, training=training, who=self.who, source=f"{SOURCE}, csv"
                    )
                except DataError as error:
                    raise DataError(str(error).replace(str(path), path.name)) from None
            counts = {"new": done.new, "known": done.known, "left": done.left}
            counts |= {"foreign": done.foreign, "repeated": done.repeated}
            return JSONResponse(counts, headers=FRESH)

        return await run_in_threadpool(take_in)

    def _answer(self, after: int, **more: Any) -> Response:
        """The position of the log, and by row what stands there now (null: nothing), besides `more`."""
        position, changed = self.log.since(after)
        rows = {
            row: None if decision is None else self.queue.described(decision)
            for row, decision in changed.items()
            if decision is None or self.queue.fits(decision)
        }
        return JSONResponse({"position": position, "rows": rows, **more}, headers=FRESH)

    def _listed(self, decisions: list[Decision]) -> list[dict[str, Any]]:
        return [{"row": decision.row, **self.queue.described(decision)} for decision in decisions]


def make_app(review: Review, token: str, port: int) -> Guard:
    """The whole page behind its guard."""
    inner = Starlette(
        routes=[Mount(f"/{token}", routes=review.routes())],
        exception_handlers={ScanmixError: _sentence, LookupError: _sentence},
    )
    return Guard(inner, token, port)


def _sentence(_: Request, error: Exception) -> Response:
    status = 500 if getattr(error, "exit_code", 2) == 3 else 400
    sentence = str(error).encode("utf-8", "backslashreplace").decode("utf-8")  # half a letter that a request names
    return PlainTextResponse(f"{sentence}\n", status_code=status)


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:
            raise HTTPException(413, f"more than {LARGEST_BODY // 2**20} MB")
    return bytes(content)


async def _json(request: Request) -> Any:
    try:
        return json.loads(await _body(request))
    except (ValueError, RecursionError):
        raise HTTPException(400, "no JSON") from None


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise HTTPException(400, f"{value!r} is no number") from None


def _label(value: Any) -> int | None:
    return None if value is None else _number(value)
