"""How fast are questions about every row of a table answered? Rows per second, on adult.

A short chain gives the draws. Rows are asked for quantiles, the mean and a probability of hours per
week given their other cells, everything included; next to them quantiles' passes in NumPy, the
oracle of the tests, in the same run.

    python bench/rows.py --data FOLDER [--rows N] [--draws N]

FOLDER holds het/adult.npz and its description; BAYESSPN_DATA does the same.
"""

from __future__ import annotations

import argparse

import numba
import numpy as np
from workbench import Table, add_data_option, clock, data_folder, load, print_table, shared

from bayesspn import Key, Model, Posterior, encode_rows, merge_chains, run_chain, start_chain
from bayesspn.arrays import Array
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.row_conditionals import RowConditionals
from bayesspn.prediction.value_sets import ValueSet

COLUMN = "hours-per-week"
LEVELS = np.array([0.05, 0.5, 0.95])
TRAINING, BURN_IN = 3000, 20
#: Rows that the oracle is asked about.
FEW = 256


def sample_draws(table: Table, draws: int) -> Posterior:
    """Draws of a short chain on some of the rows."""
    model = Model(shared((8, 1), 16), table.leaves)
    rows = encode_rows(model.leaves, table.training[:TRAINING])
    chain = start_chain(Key(0), model, rows)
    return merge_chains([run_chain(chain, rows, burn_in=BURN_IN, draws=draws)])


def pass_in_numpy(posterior: Posterior, X: Array) -> None:
    """Visits of all leaves under every draw."""
    circuits = posterior.predictive
    for draw in range(circuits.n_draws):
        evaluate(circuits.draw(draw), X).visits()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure questions about every row.")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    add_data_option(parser)
    arguments = parser.parse_args()
    numba.set_num_threads(min(arguments.threads, numba.get_num_threads()))
    table = load(data_folder(parser, arguments), "adult")
    column = [one.name for one in table.leaves.columns].index(COLUMN)
    posterior = sample_draws(table, arguments.draws).thinned
    X = table.test[: arguments.rows]
    rows, event = RowConditionals(posterior, X, {}), {column: ValueSet.of([(40.0, np.inf)])}
    few = X[:FEW].copy()
    few[:, column] = np.nan
    rates = {
        "quantiles": len(X) / clock(lambda: rows.quantiles(column, LEVELS), 1),
        "mean": len(X) / clock(lambda: rows.means(column), 1),
        "probability": len(X)
        / clock(lambda: (rows.log_joint(event), rows.log_evidence((column,))), 1),
        "passes in NumPy": len(few) / clock(lambda: pass_in_numpy(posterior, few), 1),
    }
    print(f"adult, {len(X):,} rows, {posterior.n_draws} draws, {numba.get_num_threads()} threads\n")
    print_table(("", "rows per s"), [(name, f"{1e3 * rate:,.0f}") for name, rate in rates.items()])


if __name__ == "__main__":
    main()
