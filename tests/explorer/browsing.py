"""A server in a thread and a browser without a window."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from bayesspn.explorer import create_app
from bayesspn.explorer.server import listen
from bayesspn.explorer.session import Session

TOKEN = "token-for-the-browser"


def find_chromium() -> str | None:
    """Chromium as it is installed here; CHROMIUM names another."""
    named = os.environ.get("CHROMIUM")
    names = (named,) if named else ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def say_why_not() -> str | None:
    """Why there is no browser, None if there is one; the summary of all tests repeats it."""
    if importlib.util.find_spec("playwright") is None:
        return "no browser: playwright is not installed"
    if find_chromium() is None:
        named = os.environ.get("CHROMIUM")
        return f"no browser: CHROMIUM={named} is no program" if named else "no browser: no Chromium"
    return None


@contextlib.contextmanager
def serving(session: Session) -> Iterator[str]:
    """Serve an explorer; its address."""
    session.warm_up()
    with listen(0) as listener:
        port = listener.getsockname()[1]
        application = create_app(session, token=TOKEN, hosts=[f"127.0.0.1:{port}"])
        config = uvicorn.Config(application, log_level="error", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/{TOKEN}/"
        finally:
            server.should_exit = True
            thread.join(10)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A browser; it runs as whoever runs the tests, root in containers, hence no sandbox."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page of the explorer, and what happened on it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.address = address
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)
        self.page.on("dialog", self._dismiss)

    def _listen(self, message: Any) -> None:
        # that the server refused something is what some tests are about
        if message.type == "error" and "status of 422" not in message.text:
            self.complaints.append(message.text)

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, fragment: str = "") -> Visit:
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("body[data-ready=yes]")
        return self

    def card(self, column: int) -> Any:
        return self.page.locator(f"article[data-column='{column}']")

    @contextlib.contextmanager
    def settling(self) -> Iterator[None]:
        """Wait until what is done inside has been answered and painted."""
        before = self.page.evaluate("Number(document.body.dataset.settled ?? 0)")
        yield
        self.page.wait_for_function(
            "before => Number(document.body.dataset.settled ?? 0) > before", arg=before
        )

    def shares(self, column: int) -> list[str]:
        """Percentages of a column's categories, in the order of their codes."""
        buttons = self.card(column).locator(".bars button")
        found = buttons.evaluate_all(
            "all => all.map(b => [Number(b.dataset.code), b.querySelector('.share').textContent])"
        )
        return [text for _, text in sorted(found)]

    def curve(self, column: int, name: str = "answer") -> list[float]:
        """Heights of a column's steps as shares of the plot's height."""
        points = self.card(column).locator(f".{name}").get_attribute("points").split()
        return [(80 - float(point.split(",")[1])) / 76 for point in points[::2]]

    def problem(self) -> str:
        return self.page.locator("#problem").inner_text()

    def judgement(self) -> str:
        """What is said about what is given, once it has been judged."""
        deadline = time.monotonic() + 20
        while (text := self.page.locator("#judgement").inner_text()) == "…":
            assert time.monotonic() < deadline
            self.page.wait_for_timeout(50)
        return text
