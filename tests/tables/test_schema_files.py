"""Schema files: everything survives them, and whatever is edited wrongly is named."""

from __future__ import annotations

import json
import re

import pytest

from bayesspn.tables import ColumnSchema, Schema, SchemaError
from bayesspn.tables.schema_files import schema_from_json, schema_to_json

SCHEMA = Schema(
    (
        ColumnSchema("age 🦆\n", "integer", ("gaussian", "lognormal"), dtype="int64"),
        ColumnSchema(3, "category", categories=("a", "ß", ""), ordered=True, dtype="category[str]"),
        ColumnSchema(("two", 1), "category", categories=(1, 2.5, False), gamma=0.25),
        ColumnSchema("", "real", resolution=0.1),
        ColumnSchema("x" * 10_000, "datetime", dtype="datetime64[us, Europe/Berlin]"),
        ColumnSchema("big", "category", categories=(2**63, -(2**70))),
    )
)


def test_a_saved_schema_loads_as_it_was(tmp_path):
    path = tmp_path / "schema.json"
    SCHEMA.save(path)
    loaded = Schema.load(path)
    assert loaded == SCHEMA
    types = [type(category) for category in loaded[("two", 1)].categories]
    assert types == [int, float, bool]
    assert [file.name for file in tmp_path.iterdir()] == ["schema.json"]


def test_the_file_has_one_line_per_column_and_only_what_differs_from_the_defaults():
    lines = schema_to_json(SCHEMA).splitlines()
    assert len(lines) == 5 + len(SCHEMA) + 1
    assert json.loads(lines[7].rstrip(",")) == {
        "name": "",
        "kind": "real",
        "families": ["gaussian"],
        "resolution": 0.1,
    }
    assert "ß" in lines[5]


def test_a_file_written_by_hand_needs_only_names_and_kinds(tmp_path):
    path = tmp_path / "schema.json"
    text = """
    {"format": "bayesspn-schema", "version": 1, "columns": [
        {"kind": "category", "name": "answer", "categories": ["no", "yes"]},
        {"name": "age", "kind": "integer", "gamma": null}]}"""
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # some editors begin files with a mark
    assert Schema.load(path) == Schema(
        (
            ColumnSchema("answer", "category", categories=("no", "yes")),
            ColumnSchema("age", "integer"),
        )
    )


def document(columns=({"name": "age", "kind": "real"},), **fields):
    return json.dumps({"format": "bayesspn-schema", "version": 1, "columns": columns} | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, character 1 is not JSON"),
        ('{"format": "bayesspn-schema",\n "version": 1,}', "line 2, character 1"),
        ("[" * 100_000, "brackets are nested too deeply"),
        ("[1, 2]", 'this is not a schema; it must begin with {"format": "bayesspn-schema"'),
        ("{}", "this is not a schema"),
        (document(version=2), "version is 2, and this bayesspn reads versions up to 1; install a"),
        (document(version="1"), "version is '1'; use 1"),
        (document(version=0), "version is 0; use 1"),
        (document(version=True), "version is True; use 1"),
        (document(extra=1), "unknown field 'extra'; remove it"),
        (document(columns=[]), "columns is []; use a list with one entry per column"),
        (document(columns={"age": "real"}), "columns is {'age': 'real'}; use a list"),
        (document(["age"]), "columns[0] is 'age'; use {\"name\": …"),
        (document([{"kind": "real"}]), "columns[0]: name is missing; add it"),
        (document([{"name": None, "kind": "real"}]), "columns[0]: name is None; use text"),
        (document([{"name": ["a", []], "kind": "real"}]), "columns[0]: name is ('a', []); use"),
        (document([{"name": [], "kind": "real"}]), "column 0 is named () of type tuple"),
        (document([{"name": "age"}]), "column 'age': kind is missing; add it"),
        (document([{"name": "age", "kind": None}]), "column 'age': kind is None; use one of"),
        (document([{"name": "age", "kind": {}}]), "column 'age': kind is {}; use one of"),
        (
            document([{"name": "age", "kind": "real", "famlies": []}]),
            "column 'age': unknown field 'famlies'; the fields are name, kind, families",
        ),
        (
            document([{"name": "age", "kind": "real", "families": ["gausian"]}]),
            "column 'age': families is ['gausian']; a real column takes one or more of",
        ),
        (
            document([{"name": "a", "kind": "real"}, {"name": "a", "kind": "real"}]),
            "columns 0 and 1 are both named 'a'; rename one",
        ),
        (
            document([{"name": "a", "kind": "category", "categories": [["x"]]}]),
            "column 'a': categories is (['x'],); ['x'] must be text",
        ),
        (
            document().replace('"kind"', '"gamma": NaN, "kind"'),
            "NaN is not a number; leave the field out",
        ),
        (
            document().replace('"kind"', '"kind": "count", "kind"'),
            "field 'kind' is given twice for one column",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, message):
    path = tmp_path / "my schema.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match=re.escape(message)) as caught:
        Schema.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert schema_from_json(document()) == Schema((ColumnSchema("age", "real"),))


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(SchemaError, match=r"none\.json: cannot be read: No such file"):
        Schema.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes('{"ä"}'.encode("latin-1"))
    with pytest.raises(SchemaError, match=r"latin\.json: is not text in UTF-8"):
        Schema.load(tmp_path / "latin.json")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "schema.json"
    SCHEMA.save(path)
    before = path.read_bytes()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        SCHEMA.replace("", kind="integer").save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["schema.json"]
