"""Data sets from a server on this machine or from made-up folders: no test needs the network."""

import http.server
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
from public_data import (
    BINARY_NAMES,
    MIXED_NAMES,
    DataSetError,
    binary,
    catalogue,
    files,
    load_binary,
    load_mixed,
    mixed,
)

RNG = np.random.default_rng(0)
BITS = {
    part: RNG.integers(0, 2, (5 + k, 3)).astype(np.uint8) for k, part in enumerate(catalogue.PARTS)
}
TEXTS = {
    part: "".join(",".join(map(str, row)) + "\n" for row in bits.tolist()).encode()
    for part, bits in BITS.items()
}


@pytest.fixture(autouse=True)
def tiny_data_set(monkeypatch, tmp_path):
    """A public data set of three columns, and nothing of this machine."""
    monkeypatch.delenv(files.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    sums = {part: files.git_blob_sha1(text) for part, text in TEXTS.items()}
    monkeypatch.setitem(catalogue.BINARY_FILES, "tiny", catalogue.BinaryFiles(3, sums))
    monkeypatch.setattr(catalogue, "BINARY_ADDRESS", "http://127.0.0.1:9/datasets")


@dataclass
class Server:
    answers: dict[str, bytes]
    cut: bool = False
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch):
    state = Server({f"/tiny/tiny.{part}.data": text for part, text in TEXTS.items()})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state.asked.append(self.path)
            if self.path not in state.answers:
                self.send_error(404)
                return
            content = state.answers[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if state.cut else content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        address = f"http://127.0.0.1:{listening.server_port}"
        monkeypatch.setattr(catalogue, "BINARY_ADDRESS", address)
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield state
        listening.shutdown()
        thread.join()


def assert_is_tiny(data):
    for part in catalogue.PARTS:
        loaded = getattr(data, part)
        assert loaded.dtype == np.uint8
        np.testing.assert_array_equal(loaded, BITS[part])


def cached_files():
    return sorted(path.name for path in files.cache_folder().rglob("*") if path.is_file())


def test_public_files_are_downloaded_once(server):
    assert_is_tiny(load_binary("tiny"))
    assert len(server.asked) == 3
    assert_is_tiny(load_binary("tiny"))
    assert len(server.asked) == 3
    # what was downloaded is a folder of public files
    assert_is_tiny(load_binary("tiny", folder=files.cache_folder()))


def test_wrong_checksum_names_the_file_and_leaves_nothing(server):
    server.answers["/tiny/tiny.train.data"] = TEXTS["train"].replace(b"0", b"1")
    with pytest.raises(DataSetError, match=r"tiny\.train\.data: the checksum"):
        load_binary("tiny")
    assert cached_files() == []


def test_broken_download_leaves_nothing_and_the_next_one_goes_on(server):
    server.cut = True
    with pytest.raises(DataSetError, match=r"tiny\.train\.data could not be downloaded"):
        load_binary("tiny")
    assert cached_files() == []
    server.cut = False
    assert_is_tiny(load_binary("tiny"))


def test_damaged_cache_is_refused(server):
    load_binary("tiny")
    path = files.cache_folder() / "tiny" / "tiny.valid.data"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(DataSetError, match=r"tiny\.valid\.data: .*delete it"):
        load_binary("tiny")


def test_offline_message_says_what_was_tried_and_what_to_do():
    with pytest.raises(DataSetError) as caught:
        load_binary("tiny")
    message = str(caught.value)
    assert catalogue.BINARY_ADDRESS in message
    assert str(files.cache_folder() / "tiny" / "tiny.train.data") in message
    assert "BAYESSPN_DATA" in message


def test_missing_file_on_the_server_is_told(server):
    del server.answers["/tiny/tiny.test.data"]
    with pytest.raises(DataSetError, match=r"tiny\.test\.data could not be downloaded .*404"):
        load_binary("tiny")


@pytest.mark.parametrize("inner", ["", "debd"])
def test_local_archive(tmp_path, monkeypatch, inner):
    (tmp_path / inner).mkdir(exist_ok=True)
    np.savez(tmp_path / inner / "tiny.npz", **BITS)
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    assert_is_tiny(load_binary("tiny"))


@pytest.mark.parametrize("inner", ["", "tiny", "datasets/tiny"])
def test_local_text(tmp_path, inner):
    (tmp_path / inner).mkdir(parents=True, exist_ok=True)
    for part, text in TEXTS.items():
        (tmp_path / inner / f"tiny.{part}.data").write_bytes(text)
    assert_is_tiny(load_binary("tiny", folder=tmp_path))


def test_local_archive_of_other_rows_is_refused(tmp_path):
    np.savez(tmp_path / "tiny.npz", **(BITS | {"test": 1 - BITS["test"]}))
    with pytest.raises(DataSetError, match=r"tiny\.npz, array test: the checksum"):
        load_binary("tiny", folder=tmp_path)


def test_local_archive_of_floats_is_refused(tmp_path):
    np.savez(tmp_path / "tiny.npz", **(BITS | {"train": BITS["train"] / 1}))
    with pytest.raises(DataSetError, match="array train is of type float64"):
        load_binary("tiny", folder=tmp_path)


def test_empty_folder_lists_the_places(tmp_path):
    with pytest.raises(DataSetError, match=r"debd.tiny\.npz"):
        load_binary("tiny", folder=tmp_path)
    with pytest.raises(DataSetError, match="nowhere is not a folder"):
        load_binary("tiny", folder=tmp_path / "nowhere")


def test_unknown_names_are_answered_with_known_ones():
    with pytest.raises(ValueError, match="nltcs, msnbc"):
        load_binary("audio")
    with pytest.raises(ValueError, match="abalone, adult"):
        load_mixed("iris")


def test_catalogue_is_whole():
    sums = [sha for entry in catalogue.BINARY_FILES.values() for sha in entry.sha1.values()]
    assert len(BINARY_NAMES) == 20
    assert len(set(sums)) == 63  # with the tiny one
    assert all(len(sha) == 40 for sha in sums)
    assert tuple(mixed._descriptions()) == MIXED_NAMES
    assert binary.BINARY_FILES["kdd"].columns == 64


@pytest.fixture
def made_up_abalone(monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    parts = {}
    for part in catalogue.PARTS:
        table = rng.gamma(2.0, size=(6, 9))
        table[:, 0], table[:, 8] = rng.integers(0, 3, 6), rng.integers(0, 29, 6)
        parts[part] = table
    parts["train"][0, 3] = 0.0
    parts["train"][1, 4] = np.nan
    sums = {part: mixed.array_sha256(table) for part, table in parts.items()}
    monkeypatch.setitem(mixed._descriptions()["abalone"], "sha256", sums)
    (tmp_path / "het").mkdir()
    np.savez(tmp_path / "het" / "abalone.npz", **parts)
    return parts


def test_mixed_table_has_its_schema(made_up_abalone, tmp_path):
    data = load_mixed("abalone", folder=tmp_path)
    np.testing.assert_array_equal(data.train, made_up_abalone["train"])
    assert data.schema["Rings"].categories == tuple(range(29))
    assert data.schema["Height"].families == ("gaussian", "exponential")
    assert data.schema["WholeWeight"].families == ("gaussian", "lognormal")


def test_mixed_table_of_other_numbers_is_refused(made_up_abalone, tmp_path):
    made_up_abalone["valid"][2, 2] += 1e-9
    np.savez(tmp_path / "abalone.npz", **made_up_abalone)
    with pytest.raises(DataSetError, match=r"abalone\.npz, array valid: the checksum"):
        load_mixed("abalone", folder=tmp_path)


def test_mixed_tables_are_never_downloaded(tmp_path):
    with pytest.raises(DataSetError, match=r"BAYESSPN_DATA .*abalonePP.*numpy\.savez"):
        load_mixed("abalone")
    with pytest.raises(DataSetError, match=r"neither .*abalone\.npz nor .*het"):
        load_mixed("abalone", folder=tmp_path)


def test_checksum_of_arrays_ignores_how_nan_and_zero_are_written():
    odd = np.array([[np.frombuffer(b"\x01\0\0\0\0\0\xf8\x7f")[0], -0.0]])
    assert mixed.array_sha256(odd) == mixed.array_sha256(np.array([[np.nan, 0.0]]))
