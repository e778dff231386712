"""The tables of the documentation's pictures: adult and abalone, in the units of their sources.

The files hold codes of categories and shifted whole numbers. Categories are in alphabetical order,
which the counts of the sources confirm; ages and hours start where the sources' do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

#: Categories in the order of their codes.
_ADULT = {
    "workclass": "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc "
    "State-gov Without-pay",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors "
    "Doctorate HS-grad Masters Preschool Prof-school Some-college",
    "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent "
    "Never-married Separated Widowed",
    "occupation": "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
    "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
    "Protective-serv Sales Tech-support Transport-moving",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "native-country": "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador "
    "England France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India "
    "Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US Peru Philippines Poland "
    "Portugal Puerto-Rico Scotland South Taiwan Thailand Trinadad&Tobago United-States Vietnam "
    "Yugoslavia",
}

#: What codes of whole numbers start at.
_ADULT_STARTS = {"age": 17, "education-num": 1, "hours-per-week": 1}


def adult(folder: Path) -> pd.DataFrame:
    """Read 32,561 people of the 1994 census; 13 columns, cells missing in three."""
    table = _read(folder, "adult")
    for name, words in _ADULT.items():
        table[name] = _label(table[name], words.split())
    for name, start in _ADULT_STARTS.items():
        table[name] = table[name].astype(int) + start
    for name in ("fnlwgt", "capital-gain", "capital-loss"):
        table[name] = (100 * table[name]).round().astype(int)
    return table


def abalone(folder: Path) -> pd.DataFrame:
    """Read the measures of 4,177 sea snails; 9 columns."""
    table = _read(folder, "abalone")
    table["Sex"] = _label(table["Sex"], ["F", "I", "M"])
    table["Rings"] = table["Rings"].astype(int) + 1
    return table


def _read(folder: Path, name: str) -> pd.DataFrame:
    path = folder / "het" / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"{path} does not exist: give the folder with --data")
    names = [c["name"] for c in json.loads(path.with_suffix(".json").read_text())["columns"]]
    with np.load(path) as parts:
        return pd.DataFrame(parts["full"].astype(np.float64), columns=names)


def _label(codes: pd.Series, words: list[str]) -> pd.Series:
    labels = pd.Series(None, index=codes.index, dtype="str", name=codes.name)
    known = codes.notna()
    labels[known] = np.array(words, dtype=object)[codes[known].astype(int)]
    return labels
