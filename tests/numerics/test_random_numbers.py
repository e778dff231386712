"""Counter-based random numbers: known answers, addresses, independence of grouping."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bayesspn.numerics.random_numbers import Key, Stream, fill_uniforms, philox, row_uniforms

#: Counter, key and output words published with Random123 (kat_vectors, philox4x32 with 10 rounds).
KNOWN_ANSWERS = [
    ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


def parse(words):
    return [int(word, 16) for word in words.split()]


def as_words(uniforms):
    """The 32-bit words that uniforms were made of."""
    words = np.asarray(uniforms) * 2.0**32 - 0.5
    assert (words == np.floor(words)).all()
    return words.astype(np.uint64)


def uniforms_of_row(words, sweep, row, first, last):
    out = np.empty(last - first)
    fill_uniforms(out, row, sweep, *words, first, last)
    return out


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_compiled_philox_gives_the_published_answers(counter, key, expected):
    low, high, block, sweep = parse(counter)
    row = np.uint64(low | high << 32)
    keys = (np.uint64(word) for word in parse(key))
    answer = philox(row, np.uint64(block), np.uint64(sweep), *keys)
    assert [int(word) for word in answer] == parse(expected)


def test_numpy_philox_gives_a_published_answer():
    # its blocks start at 0, so only the first vector can be asked for
    counter, key, expected = KNOWN_ANSWERS[0]
    assert set(parse(counter) + parse(key)) == {0}
    words = (np.uint32(0), np.uint32(0))
    assert list(as_words(row_uniforms(words, 0, np.zeros(1, int), 4))[0]) == parse(expected)


@pytest.mark.parametrize("sweep", [0, 1, 12345, 2**32 - 1])
def test_numpy_and_compiled_uniforms_are_identical(sweep):
    words = Key(11, 3).words()
    rows = np.array([0, 1, 2, 77, 2**31, 2**32 - 1, 2**32, 2**40 + 5])
    expected = row_uniforms(words, sweep, rows, 23)
    for row, numbers in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(uniforms_of_row(words, sweep, row, 0, 23), numbers)


def test_any_range_of_slots_gives_the_same_uniforms():
    words, row = Key(5).words(), 9
    everything = row_uniforms(words, 4, np.array([row]), 20)[0]
    for first, last in itertools.combinations_with_replacement(range(21), 2):
        part = uniforms_of_row(words, 4, row, first, last)
        np.testing.assert_array_equal(part, everything[first:last])
    for slots in range(21):
        numbers = row_uniforms(words, 4, np.array([row]), slots)
        np.testing.assert_array_equal(numbers[0], everything[:slots])


def test_uniforms_do_not_depend_on_which_rows_are_asked_together():
    words = Key(1).words()
    everything = row_uniforms(words, 7, np.arange(100), 6)
    some = np.array([42, 3, 99, 3])
    np.testing.assert_array_equal(row_uniforms(words, 7, some, 6), everything[some])
    assert row_uniforms(words, 7, np.arange(0), 6).shape == (0, 6)


def test_uniforms_lie_strictly_between_zero_and_one():
    numbers = row_uniforms(Key(2).words(), 0, np.arange(20_000), 8)
    assert numbers.min() > 0
    assert numbers.max() < 1
    # the smallest and the largest word there can be
    assert (0 + 0.5) * 2.0**-32 > 0
    assert (2.0**32 - 1 + 0.5) * 2.0**-32 < 1


def test_uniforms_are_uniform_and_uncorrelated():
    """Kolmogorov–Smirnov per slot and correlation between neighbours in row, slot and sweep.

    A false alarm for a new seed: 8 tests at 1e-4, and 3 correlations at five standard errors.
    """
    words = Key(3).words()
    numbers = row_uniforms(words, 1, np.arange(20_000), 8)
    for slot in range(8):
        assert stats.kstest(numbers[:, slot], "uniform").pvalue > 1e-4
    following = row_uniforms(words, 2, np.arange(20_000), 8)
    pairs = (
        (numbers[1:], numbers[:-1]),
        (numbers[:, 1:], numbers[:, :-1]),
        (numbers, following),
    )
    for left, right in pairs:
        correlation = np.corrcoef(left.ravel(), right.ravel())[0, 1]
        assert abs(correlation) < 5 / np.sqrt(left.size)


#: Addresses that must not meet, with seeds that fill one, two and more 32-bit words.
ADDRESSES = [
    Key(seed, chain)
    for seed in (0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63, 2**64 + 1)
    for chain in (0, 1, 2, 50)
]


def test_different_seeds_and_chains_have_different_uniforms():
    seen = {}
    for key in ADDRESSES:
        other = seen.setdefault(tuple(int(word) for word in key.words()), key)
        assert other is key, f"{key} and {other} share their uniforms"


def test_different_seeds_and_chains_have_different_generators():
    seen = {}
    for key in ADDRESSES:
        numbers = tuple(key.generator(0, Stream.WEIGHTS).integers(0, 2**62, 4))
        other = seen.setdefault(numbers, key)
        assert other is key, f"{key} and {other} share their generators"


def test_different_sweeps_and_rows_have_different_uniforms():
    words = Key(4).words()
    numbers = np.stack([row_uniforms(words, sweep, np.arange(200), 4) for sweep in range(20)])
    # 16,000 words of 32 bits: about 0.03 chance coincidences, so two are a real repetition
    assert len(np.unique(numbers)) >= numbers.size - 2


def test_generators_are_reproducible():
    for stream in Stream:
        first, second = (Key(9, 1).generator(6, stream).random(5) for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_generators_of_all_streams_and_sweeps_differ():
    key = Key(9)
    numbers = np.concatenate(
        [key.generator(sweep, stream).random(100) for sweep in range(10) for stream in Stream]
    )
    assert len(np.unique(numbers)) == numbers.size


def test_streams_have_different_numbers():
    assert len({int(stream) for stream in Stream}) == len(Stream.__members__)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError):
        Key(-1).words()
