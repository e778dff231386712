"""Tables: from what the user has to what the model works on, and back.

A table of any library gets a schema (`infer_schema`), which says what every column is; `encode`
turns the table into floats, `describe_columns` describes the leaves, and `decode` gives floats back
as a table of the same library and types.

>>> import pandas as pd
>>> from bayesspn.tables import decode, encode, infer_schema
>>> table = pd.DataFrame({"city": ["Rome", None, "Oslo"], "size": [2.5, 1.0, 3.25]})
>>> schema = infer_schema(table)
>>> decode(encode(table, schema), schema, like=table).equals(table)
True
"""

from __future__ import annotations

from bayesspn.tables.cells import TableError
from bayesspn.tables.columns import describe_columns
from bayesspn.tables.encoding import as_recorded, decode, encode
from bayesspn.tables.files import (
    TableFileError,
    read_table,
    read_table_chunks,
    write_table,
    write_table_chunks,
)
from bayesspn.tables.infer import infer_schema
from bayesspn.tables.schema import ColumnSchema, Schema, SchemaError

__all__ = [
    "ColumnSchema",
    "Schema",
    "SchemaError",
    "TableError",
    "TableFileError",
    "as_recorded",
    "decode",
    "describe_columns",
    "encode",
    "infer_schema",
    "read_table",
    "read_table_chunks",
    "write_table",
    "write_table_chunks",
]
