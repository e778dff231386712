"""The explorer as an ASGI application: the page's files, and one address per question."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bayesspn.explorer.guard import Application, Guard
from bayesspn.explorer.session import Session, as_csv, as_rows

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: Files of the page, with their types.
_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "style.css": ("style.css", "text/css; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in (
            "ask.js",
            "axis.js",
            "card.js",
            "elements.js",
            "given.js",
            "main.js",
            "panels.js",
            "plot.js",
        )
    },
}

_MOST_QUESTION_BYTES = 1 << 20
_MOST_TABLE_BYTES = 256 << 20

_log = logging.getLogger("bayesspn.explorer")


class TooLarge(ValueError):
    """A request that is too long."""


def create_app(
    model: JointEstimator | Session, *, token: str, hosts: Iterable[str], name: str = "model.bspn"
) -> Application:
    """Build the explorer of a model.

    Parameters
    ----------
    model : fitted estimator or Session
    token : str
        First part of the path of every address.
    hosts : iterable of str
        Names and ports that the server is reached by, such as ``127.0.0.1:8000``.
    name : str, default="model.bspn"
        File of the model, for the Python calls shown.

    Returns
    -------
    ASGI application
    """
    session = model if isinstance(model, Session) else Session(model, name)

    def ask(request: dict[str, Any]) -> Any:
        return session.answer(request.get("given"))

    def judge(request: dict[str, Any]) -> Any:
        return session.judge(request.get("given"))

    def sample(request: dict[str, Any]) -> Any:
        frame = session.sample(request.get("given"), request.get("rows"), request.get("seed"))
        return as_rows(frame) | {"csv": as_csv(frame)}

    def export(request: dict[str, Any]) -> Any:
        return {"csv": as_csv(session.export(request.get("given")))}

    def look(request: dict[str, Any]) -> Any:
        return session.look_at_row(request.get("row"))

    async def describe(request: Request) -> Response:
        return await _reply(session.describe)

    async def open_table(request: Request) -> Response:
        async def work() -> Any:
            content = await _read_body(request, _MOST_TABLE_BYTES)
            name = request.query_params.get("name", "")
            return await run_in_threadpool(session.open_table, content, name)

        return await _in_words(work)

    questions = {"ask": ask, "judge": judge, "sample": sample, "export": export, "look": look}
    routes = [
        *(Route(f"/{address}", _file(*file), methods=["GET"]) for address, file in _FILES.items()),
        Route("/api/model", describe, methods=["GET"]),
        Route("/api/table", open_table, methods=["POST"]),
        *(
            Route(f"/api/{name}", _question(answer), methods=["POST"])
            for name, answer in questions.items()
        ),
    ]
    return Guard(Starlette(routes=routes), token, hosts)


def _file(name: str, media_type: str) -> Callable[[Request], Any]:
    content = resources.files("bayesspn.explorer").joinpath("page", name).read_bytes()

    async def send(request: Request) -> Response:
        return Response(content, media_type=media_type)

    return send


def _question(answer: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
    async def reply(request: Request) -> Response:
        async def work() -> Any:
            asked = json.loads(await _read_body(request, _MOST_QUESTION_BYTES))
            if not isinstance(asked, dict):
                raise ValueError("a question is a JSON object")
            return await run_in_threadpool(answer, asked)

        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":  # which pages of other sites cannot send unasked
            return JSONResponse({"error": "questions are sent as application/json"}, 415)
        return await _in_words(work)

    return reply


async def _reply(describe: Callable[[], Any]) -> Response:
    async def work() -> Any:
        return await run_in_threadpool(describe)

    return await _in_words(work)


async def _in_words(work: Callable[[], Any]) -> Response:
    """The answer, or what is wrong with the question in words."""
    try:
        return JSONResponse(await work())
    except TooLarge as error:
        return JSONResponse({"error": str(error)}, 413)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return JSONResponse({"error": "the question is not JSON"}, 400)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 422)
    except Exception:
        _log.exception("a question failed")
        words = "something unexpected happened; the terminal shows what"
        return JSONResponse({"error": words}, 500)


async def _read_body(request: Request, most: int) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise TooLarge(f"the request has more than {most >> 20} MB; use a smaller table")
    return bytes(content)
