"""Schemas as files: small JSON, one line per column, made to be read and edited by hand.

The file holds the name of the format, its version, and the fields of every `ColumnSchema` that
differ from their defaults. Everything is checked on reading; a message names the file, the column,
the field, the value and the way out.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from bayesspn.files.atomic import replaced_file
from bayesspn.tables.cells import TableError, shorten
from bayesspn.tables.schema import ColumnSchema, Schema, SchemaError

_FORMAT = "bayesspn-schema"
_VERSION = 1

_FIELDS = {field.name: field for field in dataclasses.fields(ColumnSchema)}


def schema_to_json(schema: Schema) -> str:
    """The schema as JSON.

    Examples
    --------
    >>> print(schema_to_json(Schema((ColumnSchema("age", "integer"),))), end="")
    {
      "format": "bayesspn-schema",
      "version": 1,
      "columns": [
        {"name": "age", "kind": "integer", "families": ["gaussian"], "resolution": 1.0}
      ]
    }
    """
    lines = []
    for column in schema:
        fields = {
            name: getattr(column, name)
            for name, field in _FIELDS.items()
            if getattr(column, name) != field.default
        }
        lines.append(f"    {json.dumps(fields, ensure_ascii=False, allow_nan=False)}")
    head = f'{{\n  "format": "{_FORMAT}",\n  "version": {_VERSION},\n  "columns": [\n'
    return head + ",\n".join(lines) + "\n  ]\n}\n"


def schema_from_json(text: str, source: str = "schema") -> Schema:
    """Read a schema from JSON.

    Parameters
    ----------
    text : str
    source : str, default="schema"
        Where the text comes from, for messages.

    Examples
    --------
    >>> text = '{"format": "bayesspn-schema", "version": 1, "columns": [{"name": "age"}]}'
    >>> schema_from_json(text, "my.json")
    Traceback (most recent call last):
    ...
    bayesspn.tables.schema.SchemaError: my.json: column 'age': kind is missing; add it
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        return _parse_document(document)
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"{source}: line {error.lineno}, character {error.colno} is not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise SchemaError(f"{source}: brackets are nested too deeply for a schema") from None
    except (SchemaError, TableError) as error:
        raise SchemaError(f"{source}: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise SchemaError(f"{name} is not a number; leave the field out")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"field {shorten(twice)} is given twice for one column: remove one")
    return fields


def _parse_document(document: Any) -> Schema:
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise SchemaError(f'this is not a schema; it must begin with {{"format": "{_FORMAT}"')
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SchemaError(f"version is {shorten(version)}; use {_VERSION}")
    if version > _VERSION:
        raise SchemaError(
            f"version is {version}, and this bayesspn reads versions up to {_VERSION}; "
            "install a newer bayesspn"
        )
    unknown = set(document) - {"format", "version", "columns"}
    if unknown:
        raise SchemaError(f"unknown field {shorten(min(unknown))}; remove it")
    columns = document.get("columns")
    if not isinstance(columns, list) or not columns:
        raise SchemaError(f"columns is {shorten(columns)}; use a list with one entry per column")
    return Schema(tuple(_parse_column(fields, k) for k, fields in enumerate(columns)))


def _parse_column(fields: Any, position: int) -> ColumnSchema:
    place = f"columns[{position}]"
    if not isinstance(fields, dict):
        raise SchemaError(
            f'{place} is {shorten(fields)}; use {{"name": …, "kind": …}} for each column'
        )
    if "name" not in fields:
        raise SchemaError(f"{place}: name is missing; add it")
    name = fields["name"]
    if isinstance(name, list):
        name = tuple(name)
    parts = name if isinstance(name, tuple) else (name,)
    if not all(isinstance(part, str | int) for part in parts):
        raise SchemaError(f"{place}: name is {shorten(name)}; use text or a whole number")
    place = f"column {shorten(name)}"
    for field in fields:
        if field not in _FIELDS:
            raise SchemaError(
                f"{place}: unknown field {shorten(field)}; the fields are {', '.join(_FIELDS)}"
            )
    if "kind" not in fields:
        raise SchemaError(f"{place}: kind is missing; add it")
    if isinstance(fields.get("indicates"), list):  # names of several parts
        fields = fields | {"indicates": tuple(fields["indicates"])}
    return ColumnSchema(**(fields | {"name": name}))


def save_schema(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a file; an interrupted write leaves the old file as it was."""
    with replaced_file(path) as file:
        file.write(schema_to_json(schema).encode())


def load_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: is not text in UTF-8; save it as UTF-8") from None
    return schema_from_json(text, str(path))
