"""Model files: what comes back is what went in, and nothing broken or hostile gets further."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import bayesspn
from bayesspn import BayesianSPN, RegionGraph, SPNClassifier, SPNImputer, SPNRegressor
from bayesspn.files.posteriors import ModelFileError, checksum

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

FIXTURE = Path(__file__).parent / "model_v1.bspn"


def make_table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], rows), ordered=True),
            "size": rng.lognormal(size=rows).round(3),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, rows), "D"),
            "count": rng.poisson(3.0, rows),
            "flag": rng.random(rows) < 0.4,
        }
    )
    table.loc[::7, "size"] = np.nan
    return table


@pytest.fixture(scope="module")
def fitted():
    model = BayesianSPN(
        graph=RegionGraph(1, 2, sums=2, leaves=2, products="shared"),
        chains=2,
        burn_in=5,
        draws=3,
        thin=1,
        random_state=3,
    )
    return model.fit(make_table())


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.bspn"
    fitted.save(path)
    return path


def description_of(path):
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(json.loads(file.read(length))["__metadata__"]["bayesspn"])


def write_changed(path, description, **changed_arrays):
    arrays = load_file(path) | changed_arrays
    text = json.dumps(description)
    save_file(arrays, path, {"bayesspn": text, "sha256": checksum(text, arrays)})


def test_a_loaded_model_answers_as_the_saved_one(fitted, saved):
    again = bayesspn.load(saved)
    table = make_table()
    np.testing.assert_array_equal(again.score_samples(table), fitted.score_samples(table))
    pd.testing.assert_frame_equal(
        again.sample(20, random_state=5), fitted.sample(20, random_state=5)
    )
    assert again.get_params() == fitted.get_params()
    assert again.schema_ == fitted.schema_
    assert again.graph_ == fitted.graph_
    assert again.rhat_ == pytest.approx(fitted.rhat_, nan_ok=True)
    assert again.n_features_in_ == 5
    with pytest.raises(ValueError, match="feature names"):
        again.score_samples(table.drop(columns="flag"))
    again.save(saved)
    assert bayesspn.load(saved).schema_ == fitted.schema_


def test_files_of_the_first_version_are_read():
    """The file was written by version 1 of the format; later versions must go on reading it."""
    model = bayesspn.load(FIXTURE)
    expected = json.loads(FIXTURE.with_suffix(".json").read_text())
    np.testing.assert_allclose(model.score_samples(make_table()[:10]), expected, rtol=1e-6)


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        BayesianSPN().save(tmp_path / "model.bspn")
    assert not list(tmp_path.iterdir())


def test_an_error_while_writing_keeps_the_old_file(fitted, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        fitted.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        bayesspn.load(tmp_path / "nothing.bspn")


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder, not a model; name a file in it"):
        bayesspn.load(tmp_path)


@pytest.mark.parametrize("part", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_truncated_files_are_refused(saved, part):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ModelFileError, match="damaged or not a model"):
        bayesspn.load(saved)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model.bspn"
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError, match="damaged or not a model"):
        bayesspn.load(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match="damaged or not a model"):
        bayesspn.load(path)
    save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="no model of bayesspn"):
        bayesspn.load(path)


def test_newer_files_ask_for_an_update(saved):
    write_changed(saved, description_of(saved) | {"version": 2})
    with pytest.raises(ModelFileError, match=r"newer bayesspn .file version 2.*update bayesspn"):
        bayesspn.load(saved)


def test_flipped_bytes_are_refused(saved):
    content = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(150):
        changed = content.copy()
        changed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        saved.write_bytes(changed)
        with pytest.raises(ModelFileError):
            bayesspn.load(saved)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("graph", "depth"), 3),
        (("graph", "depth"), "deep"),
        (("graph", "leaves"), 10**9),
        (("graph", "products"), "__import__('os')"),
        (("chains",), [100]),
        (("chains",), []),
        (("chains",), [-1, 7]),
        (("columns",), []),
        (("priors", "alpha"), -1.0),
        (("priors", "alpha"), None),
        (("learn_leaf_priors",), 1),
        (("more",), None),
        (("more", "schema"), "{}"),
        (("more", "parameters"), {"burn": 3}),
        (("more", "estimator"), "Model"),
    ],
)
def test_altered_descriptions_are_refused(saved, path, value):
    description = description_of(saved)
    place = description
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    write_changed(saved, description)
    with pytest.raises(ValueError):
        bayesspn.load(saved)


@pytest.mark.parametrize("change", [(0, 1e12), (0, 1.0), (1, 0.0), (1, None)])
def test_constants_of_categories_are_checked(tmp_path, change):
    """A billion categories of two would take all memory there is."""
    levels = pd.Categorical(["low", "mid", "high"] * 10, ["low", "mid", "high"], ordered=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianSPN(chains=1, burn_in=2, draws=2).fit(pd.DataFrame({"level": levels}))
    path = tmp_path / "m.bspn"
    model.save(path)
    description = description_of(path)
    assert description["columns"][0]["families"] == ["categorical", "binomial"]
    place, value = change
    description["columns"][0]["constants"][1][place] = value
    write_changed(path, description)
    with pytest.raises(ValueError, match="wrong constants"):
        bayesspn.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("y.0", lambda a: a + 2),
        ("y.0", lambda a: a[:, :, :-1]),
        ("edge_counts.0", lambda a: a - 10**6),
        ("alpha", lambda a: a * np.nan),
        ("alpha", lambda a: -a),
        ("phi.0", lambda a: a.astype(np.int64)),
        ("statistics.0", lambda a: a[:-1]),
    ],
)
def test_altered_arrays_are_refused(saved, name, change):
    changed = np.ascontiguousarray(change(load_file(saved)[name]))
    write_changed(saved, description_of(saved), **{name: changed})
    with pytest.raises(ModelFileError, match="damaged"):
        bayesspn.load(saved)


KINDS = {"classifier": SPNClassifier, "regressor": SPNRegressor, "imputer": SPNImputer}
ANSWERS = {"classifier": "predict_proba", "regressor": "predict", "imputer": "transform"}


def fit_kind(kind):
    """A fitted estimator and the table that it answers."""
    settings = {"chains": 1, "burn_in": 2, "draws": 2, "thin": 1, "random_state": 3}
    model = KINDS[kind](graph=RegionGraph(0, leaves=2), **settings)
    table = make_table().drop(columns="size")
    if kind == "imputer":
        return model.fit(table), table.mask(np.random.default_rng(0).random(table.shape) < 0.2)
    target = "flag" if kind == "classifier" else "count"
    features = table.drop(columns=target)
    return model.fit(features, table[target]), features


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_answers_the_same_after_loading(kind, tmp_path):
    model, table = fit_kind(kind)
    model.save(tmp_path / "model.bspn")
    again = bayesspn.load(tmp_path / "model.bspn")
    assert type(again) is type(model)
    before, after = (getattr(m, ANSWERS[kind])(table) for m in (model, again))
    np.testing.assert_array_equal(np.asarray(after), np.asarray(before))
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_and_flipped_files_of_every_estimator_are_refused(kind, tmp_path):
    path = tmp_path / "model.bspn"
    fit_kind(kind)[0].save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(30):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            bayesspn.load(path)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError):
        bayesspn.load(path)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("imputer", "estimator", "SPNClassifier"),
        ("imputer", "parameters", {"strategy": "worst", "schema": None}),
        ("imputer", "parameters", {"schema": None, "chains": -1}),
        ("imputer", "library", "os"),
        ("imputer", "library", None),
        ("imputer", "feature_names", ["a"]),
        ("imputer", "feature_names", 7),
        ("imputer", "rhat", "high"),
        ("classifier", "estimator", "SPNRegressor"),
        ("classifier", "feature_names", ["a", "b", "c", "d", "e", "f"]),
        ("regressor", "estimator", "SPNClassifier"),
        ("regressor", "schema", None),
    ],
)
def test_altered_descriptions_of_every_estimator_are_refused(kind, key, value, tmp_path):
    path = tmp_path / "model.bspn"
    fit_kind(kind)[0].save(path)
    description = description_of(path)
    description["more"][key] = value
    write_changed(path, description)
    with pytest.raises(ModelFileError, match="damaged"):
        bayesspn.load(path)


@pytest.mark.parametrize("place", ["missing/model.bspn", "."])
def test_errors_of_saving_name_the_file_that_was_asked_for(people_model, tmp_path, place):
    path = tmp_path / place
    with pytest.raises(OSError) as raised:
        people_model.save(path)
    assert raised.value.filename == str(path)
    assert not list(tmp_path.parent.glob(".*partial"))


def test_descriptions_of_many_brackets_are_refused(people_model, tmp_path):
    path = tmp_path / "model.bspn"
    people_model.save(path)
    with safe_open(path, framework="numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = file.metadata() | {"bayesspn": "[" * 100_000}
    save_file(arrays, path, metadata)
    with pytest.raises(ModelFileError, match="damaged"):
        bayesspn.load(path)
