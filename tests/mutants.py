"""Do the quick tests notice a wrong sampler? One-line mistakes, one at a time, in a copy.

Every mutant replaces one piece of one file; the tests named with it must fail. Run it with
``make mutants``; it prints a table and ends with an error if a mutant survives. ``--write`` puts
the table into the documentation.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bayesspn.numerics.compilation import drop_stale_code

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mutants.md"

_MARK = "<!-- table -->\n"


class Mutant(NamedTuple):
    """A mistake: what it means, where it is, and who should notice.

    Attributes
    ----------
    area, mistake : str
        In words, for the table.
    file : str
        Below ``src/bayesspn``.
    right, wrong : str
        The piece that is replaced, which occurs once, and by what.
    tests : str
        Below ``tests``; further arguments of pytest may follow.
    """

    area: str
    mistake: str
    file: str
    right: str
    wrong: str
    tests: str


MOVES = "inference/test_moves.py"
EXACT = "inference/infinite/test_exact_cases.py"
HYPER = "inference/test_hyper_parameters.py"
IMPUTE = "estimators/test_multiple_imputation.py"
QUESTIONS = "questions/test_questions.py"
LABELS = "inference/evidence/test_label_symmetry.py"

MUTANTS = [
    Mutant(
        "w", "weights from the prior alone", "inference/weights.py",
        "posterior[e] = alpha + counts[s, e]", "posterior[e] = alpha",
        MOVES,
    ),
    Mutant(
        "w", "small gamma variates without rejection", "numerics/streams.py",
        "if (v < _SURE and t < _LOW) or", "if True or",
        "numerics/test_streams.py",
    ),
    Mutant(
        "θ", "leaves that see every cell twice", "inference/leaf_parameters.py",
        "            power,\n            natural,", "            2 * power,\n            natural,",
        MOVES,
    ),
    Mutant(
        "ω", "mixing weights with twice the prior", "inference/leaf_parameters.py",
        "return counts + prior[:, :, None, None]", "return counts + 2 * prior[:, :, None, None]",
        HYPER,
    ),
    Mutant(
        "y", "who owns the cells of a mixed column is left out", "inference/scopes.py",
        "if leaves.mixed.size:\n        counts", "if False:\n        counts",
        HYPER,
    ),
    Mutant(
        "y", "scopes with another β", "inference/sweep.py",
        "draw_scopes(stream, scope, log_marginals, float(hyper.beta[0]))",
        "draw_scopes(stream, scope, log_marginals, 1.0)",
        HYPER,
    ),
    Mutant(
        "y", "a column that is moved still counts where it was", "inference/scopes.py",
        "children, here, below, -1.0)", "children, here, below, 0.0)",
        HYPER,
    ),
    Mutant(
        "s",
        "cells of atoms and categories go to the first of them",
        "engine/features.py",
        "spans[m, here, 2:] = _find_spans(slots)",
        "spans[m, here, 2:] = np.minimum(_find_spans(slots), 1)",
        "engine/test_accumulation.py",
    ),
    Mutant(
        "s", "families of cells are those of the first partition's leaves",
        "engine/kernels/cell_statistics.py",
        "            return path * leaves + leaf", "            return leaf",
        "engine/test_accumulation.py",
    ),
    Mutant(
        "s", "the leaf of a column is looked for in the wrong place of a tree",
        "engine/accumulation.py",
        "np.repeat(graph.children * turns, branching)", "np.repeat(turns, branching)",
        "engine/test_accumulation.py",
    ),
    Mutant(
        "α", "a prior twice as tight", "inference/concentrations.py",
        "value, prior.median, prior.spread, width",
        "value, prior.median, 0.5 * prior.spread, width",
        HYPER,
    ),
    Mutant(
        "β", "the first partition only", "inference/concentrations.py",
        "prior, beta[0], scope.partition_counts)",
        "prior, beta[0], scope.partition_counts[:1])",
        HYPER,
    ),
    Mutant(
        "mixing", "its prior is forgotten", "inference/concentrations.py",
        "mixing[column], median, spread, spread", "mixing[column], median, 1e3 * spread, spread",
        HYPER,
    ),
    Mutant(
        "φ", "its prior is forgotten", "inference/leaf_priors.py",
        "kind, center[member, k], spread[member, k]",
        "kind, center[member, k], 1e3 * spread[member, k]",
        HYPER,
    ),
    Mutant(
        "slices", "slices that are too low", "inference/slice_sampling.py",
        "level = log_target(target, x) - exponential(stream)",
        "level = log_target(target, x) - 2 * exponential(stream)",
        HYPER,
    ),
    Mutant(
        "z", "row passes of components below the slice", "inference/sweep.py",
        "if active.complete:", "if True:",
        EXACT,
    ),
    Mutant(
        "infinite", "the concentration counts a component too few",
        "inference/infinite/stick_breaking.py",
        "np.array([float(len(sizes))])", "np.array([float(len(sizes) - 1)])",
        HYPER,
    ),
    Mutant(
        "infinite", "new components have a share of one row",
        "inference/infinite/stick_breaking.py",
        "log_gamma = draw_log_gamma(rng, np.append(sizes, concentration)",
        "log_gamma = draw_log_gamma(rng, np.append(sizes, 1.0)",
        EXACT,
    ),
    Mutant(
        "infinite", "collapsed rows stay where a component is below the slice",
        "inference/infinite/collapsed_gibbs.py",
        "if min(used) > np.log(smallest_share(shards.n_rows)):", "if True:",
        EXACT,
    ),
    Mutant(
        "infinite", "a row founds components three times as readily",
        "inference/infinite/collapsed_gibbs.py",
        "prior[np.flatnonzero(sizes == 0)[0]] = hyper.concentration[0]",
        "prior[np.flatnonzero(sizes == 0)[0]] = 3 * hyper.concentration[0]",
        EXACT,
    ),
    Mutant(
        "infinite", "trials of split and merge grow with the state",
        "inference/infinite/split_merge.py",
        "trials = _TRIALS * branching", "trials = _TRIALS * state.scope.graph.branching[0]",
        EXACT,
    ),
    Mutant(
        "infinite", "pairs to pick from are not counted", "inference/infinite/split_merge.py",
        "log_ratio = math.log(used * (used + 1) / (then * (then + 1)))", "log_ratio = 0.0",
        EXACT,
    ),
    Mutant(
        "tempering", "one-sided acceptance", "inference/evidence/checks/parallel_tempering.py",
        "differences.up[replica] + differences.down[replica]", "differences.up[replica]",
        "inference/evidence/test_parallel_tempering.py",
    ),
    Mutant(
        "tempering", "leaves of warm replicas see all of every cell",
        "inference/leaf_parameters.py",
        "prior[k] + power * statistics[member, q, i, k]", "prior[k] + statistics[member, q, i, k]",
        HYPER,
    ),
    Mutant(
        "evidence", "orders of children are not averaged over",
        "inference/evidence/label_symmetry.py",
        "if self.always_alike(level) or (", "if True or (",
        LABELS,
    ),
    Mutant(
        "evidence", "free nodes are not averaged over", "inference/evidence/label_symmetry.py",
        "nodes.append([k for k in range(size) if known.get(k, tree) >= tree])",
        "nodes.append([choice.nodes[c]])",
        LABELS,
    ),
    Mutant(
        "evidence", "bridges of unequal sets of draws", "inference/evidence/bridge_sampling.py",
        "shift = np.log(len(down) / len(up))", "shift = -np.log(len(down) / len(up))",
        "inference/evidence",
    ),
    Mutant(
        "evidence", "edges are left out of the joint density", "inference/evidence/bridge_path.py",
        "return float(leaves) + log_edge_marginal(hyper.alpha, sums.edge_counts)",
        "return float(leaves)",
        "inference/evidence/test_estimates.py",
    ),
    Mutant(
        "imputation", "all tables from one network", "prediction/posterior.py",
        "circuit = draw_circuit(Key(DRAWN_SEED + seed, number), 0, self.model, state)",
        "circuit = draw_circuit(Key(DRAWN_SEED + seed, 0), 0, self.model, self.draws[0][0])",
        IMPUTE,
    ),
    Mutant(
        "imputation", "fitted rows are counted twice", "estimators/imputation.py",
        "circuits = posterior.drawn if fitted else posterior.predictive",
        "circuits = posterior.predictive",
        IMPUTE,
    ),
    Mutant(
        "imputation", "Rubin's rules without 1/m", "estimators/pooling.py",
        "(1 + 1 / tables) * values.var(axis=0, ddof=1)", "values.var(axis=0, ddof=1)",
        IMPUTE,
    ),
    Mutant(
        "questions", "draws are not weighed by what is given", "prediction/row_averages.py",
        "weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))",
        "weights = np.where(np.isneginf(scores), 0.0, 1.0)",
        "estimators/test_supervised.py",
    ),
    Mutant(
        "questions", "intervals with tails of twice the size", "questions/uncertainty.py",
        "levels = [(1 - interval) / 2, (1 + interval) / 2]",
        "levels = [(1 - interval), interval]",
        QUESTIONS,
    ),
    Mutant(
        "questions", "values at the ends of columns count half a step inside",
        "prediction/stacked.py",
        "first, last = grid.ends",
        "first, last = grid.low, grid.high",
        "questions/test_agreement.py",
    ),
    Mutant(
        "questions", "answers from drawn instead of integrated parameters", "questions/views.py",
        "ConditionalCircuits(self.posterior.predictive, self.given)",
        "ConditionalCircuits(self.posterior.drawn, self.given)",
        QUESTIONS,
    ),
    Mutant(
        "questions", "what is given softly counts in equal shares", "questions/soft.py",
        "(weight * share, {**known, name: one})", "(weight / len(shares), {**known, name: one})",
        "questions/test_soft.py",
    ),
    Mutant(
        "censored cells", "drawn without regard to their bounds, then cut",
        "prediction/censored_rows.py",
        "draw_cells_between(rng, densities, column, pairs, low - half, high + half)",
        "draw_cells_between(rng, densities, column, pairs, -np.inf + 0 * low, np.inf + 0 * high)",
        "estimators/test_bounds.py",
    ),
    Mutant(
        "censored cells", "leaves by their densities elsewhere", "prediction/censored_rows.py",
        "given = {other: logs[rows] for other, logs in factors.items()}",
        "given = {o: logs[rows] for o, logs in factors.items() if o != column}",
        "estimators/test_bounds.py",
    ),
    Mutant(
        "weights of rows", "rounded in the order of the table", "estimators/training.py",
        "order = rng.permutation(rows)", "order = np.arange(rows)",
        "estimators/test_sample_weight.py",
    ),
    Mutant(
        "infinite", "samples of rows are asked for rows they lack", "engine/shards.py",
        "return self.rows.sorted_ids[0][places]", "return places",
        "inference/test_warm_up.py",
    ),
    Mutant(
        "prediction", "weights without the prior", "inference/weights.py",
        "posterior = concentration + counts", "posterior = 1e-9 + counts",
        "prediction/test_posterior.py",
    ),
]  # fmt: skip


def copy_tree(folder: Path) -> None:
    """Copy sources and tests, compiled code and all: what is not touched is not compiled again."""
    for name in ("src", "tests", "experiments"):
        skipped = shutil.ignore_patterns("results", ".hypothesis", ".pytest_cache")
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, folder / name)


def importers(package: Path, file: str) -> set[Path]:
    """A module and all that import it, or import what does."""
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    found, new = set[Path](), {package / file}
    while new:
        found |= new
        names = ["bayesspn." + ".".join(p.relative_to(package).with_suffix("").parts) for p in new]
        words = re.compile(rf"\bfrom ({'|'.join(map(re.escape, names))}) import\b")
        new = {path for path, text in texts.items() if words.search(text)} - found
    return found


def drop_code(package: Path, file: str) -> None:
    """Drop what was compiled from a module that changed, and from those that import it.

    The package would drop all of its code and take a minute to compile it again.
    """
    stale = {(path.parent, path.stem) for path in importers(package, file)}
    with tempfile.TemporaryDirectory() as name:
        kept = []
        for number, path in enumerate(package.rglob("*.nb[ic]")):
            if (path.parent.parent, path.name.split(".")[0]) not in stale:
                kept.append((shutil.copy2(path, f"{name}/{number}"), path))
        drop_stale_code(package)
        for copy, path in kept:
            shutil.copy2(copy, path)


def caught(folder: Path, mutant: Mutant) -> tuple[bool, str]:
    """Whether the tests fail on a mutant, and the first that does."""
    package = folder / "src" / "bayesspn"
    path = package / mutant.file
    text, stamp = path.read_text(), path.stat()
    if text.count(mutant.right) != 1:
        raise SystemExit(f"{mutant.file}: the piece of {mutant.mistake!r} occurs not just once")
    path.write_text(text.replace(mutant.right, mutant.wrong))
    drop_code(package, mutant.file)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not long",
        "-p",
        "no:cacheprovider",
    ]
    try:
        done = subprocess.run(
            [*command, f"tests/{mutant.tests}"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
        )
    finally:
        path.write_text(text)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        drop_code(package, mutant.file)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    if done.returncode not in (0, 1) or (done.returncode == 1 and not failed):
        raise SystemExit(f"{mutant.mistake}: the tests could not be run\n{done.stdout[-2000:]}")
    return done.returncode == 1, failed[0].split("::")[1].split("[")[0] if failed else ""


def main() -> None:
    """Try all mutants."""
    parser = argparse.ArgumentParser(description="Do the quick tests notice a wrong sampler?")
    parser.add_argument("--only", metavar="WORD", help="mutants whose area or mistake has it")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.only or given.only in f"{m.area} {m.mistake}"]
    lines, survivors = ["| of | mistake | noticed by | s |", "|---|---|---|---:|"], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_tree(folder)
        for mutant in chosen:
            begin = time.perf_counter()
            noticed, test = caught(folder, mutant)
            shown = f"`{test}`" if noticed else "**nobody**"
            seconds = time.perf_counter() - begin
            lines.append(f"| {mutant.area} | {mutant.mistake} | {shown} | {seconds:.0f} |")
            print(lines[-1], flush=True)
            survivors += [] if noticed else [mutant.mistake]
    if given.write:
        head = PAGE.read_text().split(_MARK)[0]
        PAGE.write_text(head + _MARK + "\n" + "\n".join(lines) + "\n")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were noticed")
    if survivors:
        raise SystemExit("not noticed: " + "; ".join(survivors))


if __name__ == "__main__":
    main()
