"""The page in a real browser: what it shows is what the Python API says."""

from __future__ import annotations

import http.server
import io
import os
import statistics
import threading

import numpy as np
import pandas as pd
import pytest
from pictured import HOSTILE_NAMES, IMAGE, LONG, RIGHT_TO_LEFT, SCRIPT, fit, hostile_schema
from pictured import hostile_table as make_hostile_table

from bayesspn import load
from bayesspn.explorer.session import Session

from .browsing import Visit, chromium, say_why_not, serving

WHY_NOT = say_why_not()
if WHY_NOT:
    pytest.skip(WHY_NOT, allow_module_level=True)

AGE, SEX, INCOME, VISITS, ILL, SEEN, STAY = range(7)


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def explorer(model):
    session = Session(model, "people.bspn")
    with serving(session) as address:
        yield session, address


@pytest.fixture
def visit(browser, explorer):
    visit = Visit(browser, explorer[1]).open()
    yield visit
    assert not visit.complaints
    assert not visit.dialogs
    assert all(url.startswith((explorer[1], "data:", "blob:")) for url in visit.requested)
    visit.context.close()


def percent(value: float) -> str:
    """As the page writes probabilities."""
    share = 100 * value
    if share == 0:
        return "0 %"
    if share < 0.01:
        return f"{share:.0e} %".replace("e-0", "e-")
    return f"{share:.{2 if share < 1 or 99 < share < 100 else 1}f} %"


def check_page(visit: Visit, model, given) -> None:
    """All plots show what the API answers."""
    asked = model.distributions(given=given, interval=0.9)
    before = model.distributions()
    for position, (name, frame) in enumerate(asked.items()):
        if "value" in frame:
            assert visit.shares(position) == [percent(p) for p in frame["probability"]]
            continue
        if not isinstance((given or {}).get(name, ()), tuple | list):
            continue  # an exact value is a line
        width = frame["to"] - frame["from"]
        seconds = width.dt.total_seconds() if width.dtype.kind == "m" else width
        if name == "visits":  # whole numbers, both ends of a cell counted
            seconds = seconds + 1
        finite = np.isfinite(seconds) & seconds.notna()
        heights = (frame["probability"] / seconds)[finite]
        top = max(
            (frame["high"] / seconds)[finite].max(),
            heights.max(),
            (before[name]["probability"] / seconds)[finite].max(),
        )
        np.testing.assert_allclose(visit.curve(position), heights / top, atol=1e-6)


def test_the_page_loads_and_shows_every_column(visit, model):
    assert visit.page.locator("#title").inner_text() == "people.bspn"
    assert visit.page.locator("article h3").all_inner_texts() == list(model.schema_.names)
    assert "Nothing is given" in visit.judgement()
    check_page(visit, model, None)


def test_clicks_change_every_plot_to_what_the_api_gives(visit, model):
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").click()
    check_page(visit, model, {"sex": "M"})
    assert visit.page.locator("#known li").count() == 1
    with visit.settling():
        visit.card(ILL).locator("button[data-code='1']").click()
    check_page(visit, model, {"sex": "M", "ill": True})
    answer = model.probability({"sex": "M", "ill": True})
    assert f"Probability {100 * answer:.1f} %" in visit.judgement()
    with visit.settling():
        visit.card(SEX).locator("button[data-code='0']").click()
    check_page(visit, model, {"sex": ["F", "M"], "ill": True})


def test_undo_and_redo_go_back_and_forth(visit, model):
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").click()
    with visit.settling():
        visit.card(AGE).locator("input.value").fill("40")
        visit.card(AGE).locator("button.set").click()
    check_page(visit, model, {"sex": "M", "age": 40})
    with visit.settling():
        visit.page.locator("#undo").click()
    check_page(visit, model, {"sex": "M"})
    with visit.settling():
        visit.page.locator("body").press("Control+z")
    check_page(visit, model, None)
    assert visit.page.locator("#undo").is_disabled()
    with visit.settling():
        visit.page.locator("#redo").click()
    check_page(visit, model, {"sex": "M"})
    with visit.settling():
        visit.page.locator("#clear").click()
    check_page(visit, model, None)


def test_dragging_over_a_plot_sets_a_range(visit, model):
    box = visit.card(AGE).locator("svg").bounding_box()
    visit.page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 20)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20, steps=4)
    with visit.settling():
        visit.page.mouse.up()
    told = visit.page.locator("#known li").inner_text()
    low, high = (int(part) for part in told.removeprefix("age").removesuffix("×").split(" to "))
    assert 25 < low < high < 60
    check_page(visit, model, {"age": (low, high)})


def test_the_keyboard_is_enough(visit, model):
    plot = visit.card(INCOME).locator("svg")
    plot.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
        plot.press(key)
    with visit.settling():
        plot.press("Enter")
    low, high = visit.page.evaluate(
        "JSON.parse(decodeURIComponent(location.hash.slice(1))).map(e => [e.low, e.high])[0]"
    )
    assert float(high) - float(low) > 0
    check_page(visit, model, {"income": (float(low), float(high))})
    with visit.settling():
        plot.press("Escape")
    check_page(visit, model, None)
    visit.card(SEX).locator("button[data-code='0']").focus()
    with visit.settling():
        visit.page.keyboard.press("Space")
    check_page(visit, model, {"sex": "F"})
    visit.card(SEX).locator("input.value").focus()
    visit.page.keyboard.type("M")
    with visit.settling():
        visit.page.keyboard.press("Enter")
    check_page(visit, model, {"sex": "M"})


def test_typed_ranges_and_times_are_taken(visit, model):
    with visit.settling():
        visit.card(AGE).locator("input.low").fill("30")
        visit.card(AGE).locator("input.high").fill("45")
        visit.card(AGE).locator("button.set").click()
    with visit.settling():
        visit.card(SEEN).locator("input.low").fill("2024-03-01")
        visit.card(SEEN).locator("button.set").click()
    check_page(visit, model, {"age": (30, 45), "seen": ("2024-03-01", None)})


def test_a_missing_cell_says_nothing(visit, model):
    with visit.settling():
        visit.card(AGE).locator("button.missing").click()
    assert "missing" in visit.page.locator("#known").inner_text()
    check_page(visit, model, None)
    with visit.settling():
        visit.card(AGE).locator("button.missing").click()
    assert not visit.page.locator("#known li").count()


BAD_INPUT = [
    (AGE, {"value": "forty"}, "'forty' is not a number"),
    (AGE, {"value": "<img src=x onerror=alert(1)>"}, "is not a number"),
    (SEX, {"value": "X"}, "'X' is not among its categories"),
    (AGE, {"value": "", "low": "60", "high": "20"}, "ends before it begins"),
    (VISITS, {"low": "", "high": "-2"}, "no value satisfies"),
    (INCOME, {}, "type a value first"),
    (SEEN, {"value": "soon"}, "is not a moment"),
]


def test_bad_input_is_answered_in_words_and_changes_nothing(visit, model):
    with visit.settling():
        visit.card(ILL).locator("button[data-code='0']").click()
    for column, fields, words in BAD_INPUT:
        with visit.settling():
            for name, text in fields.items():
                visit.card(column).locator(f"input.{name}").fill(text)
            visit.card(column).locator("button.set").click()
        assert words in visit.problem()
        assert visit.page.locator("#known li").count() == 1
    check_page(visit, model, {"ill": False})
    with visit.settling():
        visit.page.locator("#clear").click()
    assert visit.page.locator("#problem").is_hidden()


def test_a_link_carries_what_is_given(visit, browser, explorer, model):
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").click()
    with visit.settling():
        visit.card(AGE).locator("input.low").fill("50")
        visit.card(AGE).locator("button.set").click()
    fragment = visit.page.url.partition("#")[2]
    other = Visit(browser, explorer[1]).open(f"#{fragment}")
    check_page(other, model, {"sex": "M", "age": (50, None)})
    other.context.close()
    broken = Visit(browser, explorer[1]).open("#nonsense")
    assert "cannot be read" in broken.problem()
    broken.context.close()
    foreign = Visit(browser, explorer[1]).open("#" + '[{"column":99,"kind":"missing"}]')
    assert "another model" in foreign.problem()
    foreign.context.close()


def test_answers_are_exported_as_csv_and_python(visit, model, tmp_path, monkeypatch):
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").click()
    with visit.page.expect_download() as download:
        visit.page.locator("#export").click()
    frame = pd.read_csv(download.value.path())
    told = model.distribution("ill", {"sex": "M"})["probability"]
    np.testing.assert_allclose(frame[frame["column"] == "ill"]["probability"], told)
    visit.page.locator("#python-panel summary").click()
    monkeypatch.chdir(tmp_path)
    model.save("people.bspn")
    names: dict[str, object] = {}
    exec(visit.page.locator("#python").inner_text(), names)
    np.testing.assert_allclose(names["answers"]["ill"]["probability"], told)


def test_synthetic_rows_are_drawn_given_what_is_known(visit, model):
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").click()
    visit.page.locator("#samples-panel summary").click()
    visit.page.locator("#sample-rows").fill("7")
    visit.page.locator("#draw").click()
    visit.page.wait_for_selector("#samples td")
    cells = visit.page.locator("#samples tr td:nth-child(2)").all_inner_texts()
    assert cells == ["M"] * 7
    with visit.page.expect_download() as download:
        visit.page.locator("#save-samples").click()
    drawn = model.sample(7, {"sex": "M"}, random_state=0)
    np.testing.assert_allclose(pd.read_csv(download.value.path())["age"], drawn["age"])
    visit.page.locator("#sample-rows").fill("0")
    visit.page.locator("#draw").click()
    visit.page.wait_for_selector("#problem:not([hidden])")
    assert "must be a whole number" in visit.problem()


def test_a_row_shows_its_surprising_cells_and_can_be_given(visit, model, table):
    odd = table.drop(columns="stay")
    odd.loc[5, "income"] = 3_000.0
    visit.page.locator("#rows-panel summary").click()
    visit.page.locator("#file").set_input_files(
        {"name": "odd.csv", "mimeType": "text/csv", "buffer": odd.to_csv(index=False).encode()}
    )
    visit.page.wait_for_selector("#look:not([disabled])")
    visit.page.locator("#row").fill("5")
    visit.page.locator("#look").click()
    visit.page.wait_for_selector("#cells li")
    first = visit.page.locator("#cells li").first
    assert first.inner_text().startswith("income: 3000.0 – only one in")
    assert "surprising" in first.get_attribute("class")
    with visit.settling():
        visit.page.locator("#use-row").click()
    assert visit.page.locator("#known li").count() == 7
    with visit.settling():
        visit.card(INCOME).locator("button.forget").click()
    given = {name: odd.loc[5, name] for name in odd.columns if name != "income"}
    given = {name: value for name, value in given.items() if not pd.isna(value)}
    frame = model.distributions(["income"], given, interval=0.9)["income"][1:-1]
    shares = np.array(visit.curve(INCOME))
    expected = (frame["probability"] / (frame["to"] - frame["from"])).to_numpy()
    np.testing.assert_allclose(shares / shares.max(), expected / expected.max(), atol=1e-5)


def test_the_page_fits_a_phone(browser, explorer):
    visit = Visit(browser, explorer[1], viewport={"width": 360, "height": 640}, has_touch=True)
    visit.open()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
    with visit.settling():
        visit.card(SEX).locator("button[data-code='1']").tap()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
    box = visit.card(SEX).locator("button.set").bounding_box()
    assert box["height"] >= 30
    visit.context.close()


def test_hostile_names_are_text_in_the_page(browser):
    table = make_hostile_table()
    session = Session(fit(table, hostile_schema(), chains=1), f"{SCRIPT}.bspn")
    with serving(session) as address:
        visit = Visit(browser, address).open()
        names = visit.page.locator("article h3").all_text_contents()
        assert names[:4] == list(HOSTILE_NAMES[:4])
        assert names[4] == LONG[:299] + "…"
        with visit.settling():
            visit.card(0).locator("button[data-code='0']").click()
        with visit.settling():
            visit.card(0).locator("button[data-code='4']").click()
        with visit.settling():
            visit.card(2).locator("input.value").fill(IMAGE)
            visit.card(2).locator("button.set").click()
        assert "not among its categories" in visit.problem()
        visit.page.locator("#samples-panel summary").click()
        visit.page.locator("#draw").click()
        visit.page.wait_for_selector("#samples td")
        buffer = io.BytesIO()
        table.to_csv(buffer, index=False)
        visit.page.locator("#rows-panel summary").click()
        visit.page.locator("#file").set_input_files(
            {"name": f"{SCRIPT}.csv", "mimeType": "text/csv", "buffer": buffer.getvalue()}
        )
        visit.page.wait_for_selector("#look:not([disabled])")
        visit.page.locator("#look").click()
        visit.page.wait_for_selector("#cells li")
        assert visit.page.evaluate("document.scripts.length") == 1
        assert visit.page.evaluate("document.images.length") == 0
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert RIGHT_TO_LEFT in visit.page.locator("#cells").inner_text()
        isolated = visit.page.locator("article h3 bdi").count()
        assert isolated == 5
        assert not visit.dialogs
        assert not visit.complaints
        visit.context.close()


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>elsewhere</p>")

    def log_message(self, *arguments):
        pass


def test_pages_of_other_sites_get_nothing(browser, explorer):
    address = explorer[1]
    with http.server.HTTPServer(("127.0.0.1", 0), _Elsewhere) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        statuses = []
        page.on(
            "response", lambda r: statuses.append(r.status) if r.url.startswith(address) else None
        )
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        script = """async address => {
            const told = [];
            for (const mode of ["cors", "no-cors"]) {
                try {
                    const reply = await fetch(address + "api/model", {mode});
                    told.push(await reply.text());
                } catch (error) { told.push(""); }
            }
            await new Promise(done => {
                const tag = document.createElement("script");
                tag.onload = tag.onerror = done;
                tag.src = address + "main.js";
                document.body.append(tag);
            });
            return told;
        }"""
        assert page.evaluate(script, address) == ["", ""]
        assert page.evaluate("typeof model") == "undefined"
        with page.expect_navigation():
            page.evaluate("address => { location.href = address; }", address)
        assert "refused" in page.inner_text("body")
        assert set(statuses) == {403}
        other.shutdown()
        context.close()


def test_clicks_are_timed(browser, model, record_property):
    """Not a limit, since machines differ: the summary of the tests shows it.

    BAYESSPN_EXPLORED names a model to time instead of the small one.
    """
    named = os.environ.get("BAYESSPN_EXPLORED")
    session = Session(load(named) if named else model, named or "people.bspn")
    with serving(session) as address:
        visit = Visit(browser, address).open()
        buttons = visit.page.locator(".bars li:not([hidden]) button")
        for place in range(min(buttons.count(), 20)):
            with visit.settling():
                buttons.nth(place).click()
        times = visit.page.evaluate(
            "performance.getEntriesByName('click to repaint').map(entry => entry.duration)"
        )
        visit.context.close()
    assert len(times) >= 4
    told = f"median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms"
    record_property("click to repaint", f"{told} ({len(times)} clicks, {session.name})")
