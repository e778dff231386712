"""Schemas: what they refuse, how they print, how they are changed."""

from __future__ import annotations

import re

import pytest

from bayesspn.leaves import FAMILIES
from bayesspn.tables import ColumnSchema, Schema, SchemaError, TableError
from bayesspn.tables.schema import DEFAULT_FAMILIES, suitable_families

SCHEMA = Schema(
    (
        ColumnSchema("age", "integer", ("gaussian", "lognormal"), dtype="int64"),
        ColumnSchema("rank", "category", categories=("low", "mid", "high"), ordered=True),
        ColumnSchema(7, "real", gamma=2.0),
    )
)


def test_every_family_suits_some_kind_and_defaults_are_suitable():
    assert {family for kind in DEFAULT_FAMILIES for family in suitable_families(kind)} == set(
        FAMILIES
    )
    for kind, families in DEFAULT_FAMILIES.items():
        assert set(families) <= set(suitable_families(kind))


def test_columns_are_found_by_name():
    assert SCHEMA["age"].families == ("gaussian", "lognormal")
    assert SCHEMA[7].kind == "real"
    assert "age" in SCHEMA
    assert 3 not in SCHEMA
    assert [column.name for column in SCHEMA] == ["age", "rank", 7]
    with pytest.raises(
        SchemaError, match=r"no column 'agee'; did you mean 'age'\? known are 'age', 'rank', 7"
    ):
        SCHEMA["agee"]


def test_a_schema_prints_as_a_table_with_a_line_per_column():
    assert str(SCHEMA).splitlines() == [
        "Schema of 3 columns",
        "name  kind      families               values            dtype",
        "age   integer   gaussian, lognormal    recorded to 1     int64",
        "rank  category  categorical, binomial  low < mid < high  -",
        "7     real      gaussian               gamma 2           -",
    ]


def test_hostile_names_and_categories_print_on_one_line():
    name = "a\nb\t" + "x" * 1000
    schema = Schema(
        (
            ColumnSchema(name, "category", categories=("y\n" * 50, "", *range(100))),
            ColumnSchema("", "real"),
            ColumnSchema("🦆", "real"),
        )
    )
    lines = str(schema).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) < 150
    assert "… 98 more" in lines[2]
    assert lines[3].startswith("''")
    assert lines[4].startswith("🦆")


def test_replace_changes_one_column_of_a_copy():
    changed = SCHEMA.replace("age", families=("gaussian",), gamma=1)
    assert changed["age"].families == ("gaussian",)
    assert changed["age"].gamma == 1.0
    assert changed["age"].dtype == "int64"
    assert changed["rank"] is SCHEMA["rank"]
    assert SCHEMA["age"].families == ("gaussian", "lognormal")
    assert SCHEMA.replace("age", name="years").names == ("years", "rank", 7)


def test_a_new_kind_brings_its_own_defaults():
    column = SCHEMA.replace("age", kind="count")["age"]
    assert (column.families, column.resolution) == (("poisson", "geometric"), None)
    column = SCHEMA.replace("rank", kind="real", families=["lognormal"])["rank"]
    assert (column.families, column.categories, column.ordered) == (("lognormal",), (), False)
    typed = SCHEMA.replace("rank", dtype="category[str]")
    assert typed.replace("rank", kind="real")["rank"].dtype is None
    assert SCHEMA.replace("age", kind="real")["age"].dtype == "int64"


def test_replace_names_unknown_fields():
    with pytest.raises(
        SchemaError, match="column 'age' has no field 'family'; the fields are name"
    ):
        SCHEMA.replace("age", family="gaussian")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "number"}, "column 'x': kind is 'number'; use one of binary, category, count"),
        ({"kind": ["real"]}, "column 'x': kind is ['real']; use one of"),
        ({"families": "gaussian"}, "column 'x': families is 'gaussian'; use a list of names"),
        ({"families": [[]]}, "column 'x': families is [[]]; use a list of names"),
        (
            {"families": ("poisson",)},
            "a real column takes one or more of atoms, exponential, gaussian",
        ),
        ({"families": ("gaussian", "gaussian")}, "a real column takes one or more of"),
        ({"families": ("cauchy",)}, "column 'x': families is ('cauchy',); a real column takes"),
        (
            {"kind": "category"},
            "column 'x': categories is (); list the values that the column can take",
        ),
        ({"categories": ("a",)}, "categories is ('a',); a real column has none: leave it out"),
        ({"kind": "category", "categories": "ab"}, "categories is 'ab'; use a list of values"),
        ({"kind": "category", "categories": ("a", None)}, "None must be text, a number, true or"),
        ({"kind": "category", "categories": (1.0, float("nan"))}, "nan must be text, a number"),
        ({"kind": "category", "categories": ([],)}, "[] must be text, a number"),
        ({"kind": "category", "categories": ("a", "b", "a")}, "'a' occurs twice: remove one"),
        ({"kind": "category", "categories": (1, True)}, "True occurs twice: remove one"),
        (
            {"kind": "category", "categories": range(3), "families": ("bernoulli",)},
            "families is ('bernoulli',); bernoulli needs exactly two categories",
        ),
        (
            {"kind": "category", "categories": range(10_001)},
            "column 'x' has 10,001 categories, more than the 10,000 that can be modelled",
        ),
        ({"ordered": "yes"}, "column 'x': ordered is 'yes'; use true or false"),
        ({"resolution": -1}, "column 'x': resolution is -1; use a number from 0 on"),
        ({"resolution": "fine"}, "column 'x': resolution is 'fine'; use a number from 0 on"),
        ({"gamma": 0}, "column 'x': gamma is 0; use a number above 0, or leave it out"),
        ({"gamma": float("inf")}, "column 'x': gamma is inf; use a number above 0"),
        ({"gamma": True}, "column 'x': gamma is True; use a number above 0"),
        ({"dtype": 8}, "column 'x': dtype is 8; use a type for a real column, such as 'float64'"),
        ({"dtype": "str"}, "column 'x': dtype is 'str'; use a type for a real column"),
        ({"dtype": "int46"}, "column 'x': dtype is 'int46'; use a type for a real column"),
        ({"kind": "binary", "dtype": "str"}, "dtype is 'str'; use a type for a binary column"),
        ({"kind": "category", "categories": ("a",), "dtype": "category[cat]"}, "dtype is 'categor"),
        ({"kind": "datetime", "dtype": "int64"}, "dtype is 'int64'; use a type for a datetime"),
        ({"kind": "datetime", "dtype": "datetime64[us, Mars/Base]"}, "dtype is 'datetime64[us, Ma"),
        ({"kind": "datetime", "dtype": "datetime64[parsec]"}, "dtype is 'datetime64[parsec]'; use"),
        ({"kind": "duration", "dtype": "datetime64[us]"}, "use a type for a duration column, such"),
    ],
)
def test_a_wrong_field_is_named_with_its_column_value_and_fix(fields, message):
    fields = {"kind": "real"} | fields
    if isinstance(fields.get("categories"), range):
        fields["categories"] = tuple(fields["categories"])
    with pytest.raises(SchemaError, match=re.escape(message)):
        ColumnSchema("x", **fields)


def test_a_schema_needs_columns_of_different_names():
    with pytest.raises(SchemaError, match="a schema needs at least one column"):
        Schema(())
    with pytest.raises(SchemaError, match=r"columns\[0\] is 'age'; use a ColumnSchema"):
        Schema(("age",))
    with pytest.raises(TableError, match="columns 0 and 2 are both named 'a'; rename one of them"):
        Schema(tuple(ColumnSchema(name, "real") for name in "aba"))
    with pytest.raises(
        TableError, match=r"column 0 is named 1\.5 of type float; names must be text"
    ):
        Schema((ColumnSchema(1.5, "real"),))
