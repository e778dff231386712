"""The documentation's pictures: plots, report and explorer on adult and abalone.

    python experiments/pictures.py --data FOLDER [--only plots|report|explorer]

FOLDER holds het/adult.npz, het/abalone.npz and their descriptions. Models of 100 draws are fitted
once and kept in experiments/results. Needs bayesspn[plots,explore], playwright and Chromium.
"""

from __future__ import annotations

import argparse
import io
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import picture_tables
from PIL import Image

from bayesspn import BayesianSPN, load, plots, select_graph
from bayesspn.explorer import explore
from bayesspn.report import write_report

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
IMAGES = ROOT / "docs" / "images"

#: 100 draws; chains this short do not agree, and the pictures show that they do not.
SAMPLING: dict[str, Any] = {"chains": 2, "burn_in": 100, "draws": 50, "thin": 2, "random_state": 1}

#: Rows of abalone for which graphs are compared.
FEW_ROWS = 300


def keep(picture: bytes, name: str, colours: int = 128) -> None:
    """Write a small PNG."""
    IMAGES.mkdir(exist_ok=True)
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(colours).save(IMAGES / f"{name}.png", optimize=True)
    print(f"{name}: {(IMAGES / f'{name}.png').stat().st_size / 1000:.0f} kB", flush=True)


def fitted(name: str, table: pd.DataFrame) -> BayesianSPN:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.bspn"
    if not path.is_file():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            BayesianSPN(**SAMPLING).fit(table).save(path)
    table.to_csv(RESULTS / f"{name}.csv", index=False)
    model: BayesianSPN = load(path)
    return model


def compare_graphs(table: pd.DataFrame) -> pd.DataFrame:
    """Evidence of the default graphs for a sample of rows."""
    sample = table.sample(FEW_ROWS, random_state=0)
    estimator = BayesianSPN(**SAMPLING)
    options: dict[str, Any] = {"sweeps": 80, "loo": False, "n_jobs": -1, "progress": True}
    return select_graph(sample, estimator=estimator, **options).table


def draw_plots(models: dict[str, BayesianSPN], tables: dict[str, pd.DataFrame]) -> None:
    adult, abalone = models["adult"], models["abalone"]
    people, snails = tables["adult"], tables["abalone"]
    wanted: dict[str, Callable[[], Any]] = {
        "abalone-graph": lambda: plots.graph(abalone),
        "adult-dependence": lambda: plots.dependence(adult),
        "abalone-trace": lambda: plots.trace(abalone),
        "abalone-ranks": lambda: plots.ranks(abalone),
        "abalone-density": lambda: plots.density(abalone, "Rings", "Sex = I", data=snails),
        "adult-density": lambda: plots.density(adult, "education", {"age": (18, 25)}, data=people),
        "abalone-map": lambda: plots.conditional_map(abalone, "Length", "WholeWeight", data=snails),
        "adult-check": lambda: plots.check_column(adult, people, "hours-per-week"),
        "adult-check-pair": lambda: plots.check_pair(adult, people, "workclass", "occupation"),
        "adult-missing": lambda: plots.missing(adult, people),
        "adult-filled": lambda: plots.filled(adult, people, "occupation"),
        "evidence": lambda: plots.evidence(compare_graphs(snails)),
    }
    for name, draw in wanted.items():
        figure = draw().figure
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=90)
        keep(stream.getvalue(), name, 64)


def shoot_reports(browser: Any, models: dict[str, BayesianSPN], tables: dict[str, Any]) -> None:
    for name, picture, section in (
        ("adult", "adult-report", "the-table"),
        ("abalone", "abalone-report-surprises", "surprising-rows-and-cells"),
    ):
        path = RESULTS / f"{name}.html"
        write_report(models[name], path, tables[name], title=name)
        page = browser.new_page(viewport={"width": 900, "height": 1300})
        page.goto(f"{path.as_uri()}#{section}" if section != "the-table" else path.as_uri())
        page.wait_for_timeout(500)
        keep(page.screenshot(), picture)
        page.close()


def shoot_explorers(browser: Any, models: dict[str, BayesianSPN], tables: dict[str, Any]) -> None:
    adult = serve(models["adult"], "adult.bspn", tables["adult"])
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(adult)
    page.wait_for_selector("body[data-ready=yes]")
    keep(page.screenshot(), "adult-explorer")
    click(page, 5, "Widowed")
    type_range(page, 11, "35", "")
    page.wait_for_function("() => document.querySelector('#judgement').textContent.length > 5")
    page.wait_for_timeout(1500)
    page.evaluate("window.scrollTo(0, 0)")
    keep(page.screenshot(), "adult-explorer-evidence")
    page.locator("#clear").click()
    page.locator("#rows-panel summary").click()
    page.locator("#row").fill("10")
    page.locator("#look").click()
    page.wait_for_selector("#cells li", timeout=300_000)
    page.locator("#rows-panel").scroll_into_view_if_needed()
    keep(page.locator("#rows-panel").screenshot(), "adult-explorer-row")
    page.close()
    abalone = serve(models["abalone"], "abalone.bspn", None)
    phone = browser.new_page(viewport={"width": 375, "height": 812}, device_scale_factor=1.5)
    phone.goto(abalone)
    phone.wait_for_selector("body[data-ready=yes]")
    click(phone, 0, "I")
    phone.wait_for_timeout(1500)
    keep(phone.screenshot(), "abalone-explorer-phone")
    phone.close()


def serve(model: BayesianSPN, name: str, table: pd.DataFrame | None) -> str:
    """Serve an explorer in the background; its address."""
    ready = threading.Event()
    told: list[str] = []

    def announce(address: str) -> None:
        told.append(address)
        ready.set()

    threading.Thread(
        target=explore,
        args=(model,),
        kwargs={"name": name, "table": table, "announce": announce},
        daemon=True,
    ).start()
    ready.wait()
    return told[0]


def click(page: Any, column: int, category: str) -> None:
    card = page.locator(f"article[data-column='{column}']")
    card.locator(".bars button", has_text=category).first.click()
    page.wait_for_timeout(1000)


def type_range(page: Any, column: int, low: str, high: str) -> None:
    card = page.locator(f"article[data-column='{column}']")
    card.locator("input.low").fill(low)
    card.locator("input.high").fill(high)
    card.locator("button.set").click()
    page.wait_for_timeout(3000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with het/NAME.npz")
    parser.add_argument("--only", choices=("plots", "report", "explorer"))
    options = parser.parse_args()
    mpl.use("Agg")
    tables = {
        "adult": picture_tables.adult(options.data),
        "abalone": picture_tables.abalone(options.data),
    }
    models = {name: fitted(name, table) for name, table in tables.items()}
    if options.only in (None, "plots"):
        draw_plots(models, tables)
    if options.only == "plots":
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        if options.only in (None, "explorer"):
            shoot_explorers(browser, models, tables)
        if options.only in (None, "report"):
            shoot_reports(browser, models, tables)
        browser.close()


if __name__ == "__main__":
    main()
