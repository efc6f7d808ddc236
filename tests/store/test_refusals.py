"""A file that is not what it must be is refused with one sentence, whatever is wrong with it."""

import json
import os
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import countwise as cw
from countwise.errors import ParameterError, StoreError
from countwise.store import archive
from countwise.store.files import describe, load, save

# --- not a model at all ----------------------------------------------------------------------


def test_missing_files_directories_and_pipes(tmp_path, refused):
    refused(tmp_path / "none.cw", "there is no file")
    refused(tmp_path, "is a directory")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "a device or a pipe")
    refused("a\0b", "is no path")
    refused(None, "is no path")
    refused(tmp_path / "none.cw", "there is no file", describe)


def test_other_files(tmp_path, refused):
    path = tmp_path / "x.cw"
    for content, words in [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a countwise model"),
        (b"PK", "is cut off"),
        (b"PK\x03\x04" + bytes(500), "is cut off"),
        (b"PK\x05\x06" + bytes(18), "not a countwise model"),
    ]:
        path.write_bytes(content)
        refused(path, words)
        refused(path, words, describe)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("word/document.xml", "<x/>")
    refused(path, "is a zip file but not a countwise model")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", '{"manifest_version": 3}')
    refused(path, "is a zip file but not a countwise model")


def test_an_unreadable_file(saved, monkeypatch, refused):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    refused(saved, "cannot be read")


# --- damaged, hostile, too large, too new ----------------------------------------------------


def test_cut_off_files(saved, refused):
    whole = saved.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 100, 30):
        saved.write_bytes(whole[:size])
        refused(saved, "cut off")
    saved.write_bytes(whole + b"x")
    refused(saved, "behind its end")


def test_newer_formats_say_upgrade(edited, refused):
    path = edited("manifest.json", lambda m: m.update(format_version=3, library_version="9.1.0"))
    refused(path, r"written by a newer countwise \(9\.1\.0, format 3\).*Upgrade")
    refused(path, "newer", describe)


def test_older_formats_name_both_versions(edited, refused):
    path = edited("manifest.json", lambda m: m.update(format_version=1, library_version="0.9.0"))
    words = (
        r"an older countwise \(0\.9\.0, format 1\).* reads format 2. Fit and save the model again"
    )
    refused(path, words)
    refused(path, "older", describe)


def test_wrong_checksums_sizes_and_lists(saved, zips, refused):
    unpacked, packed = zips
    members = unpacked(saved)
    changed = {**members, "notes.json": members["notes.json"].replace(b"null", b"true")}
    packed(saved, changed, mended=False)
    refused(saved, "does not match its checksum")
    packed(saved, {**members, "notes.json": b"{}"}, mended=False)
    refused(saved, "in another size than its manifest says")
    packed(saved, {**members, "more.json": b"{}"}, mended=False)
    refused(saved, "members its manifest lists")
    packed(saved, {name: data for name, data in members.items() if name != "notes.json"})
    refused(saved, "members its manifest lists")


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.json", "arrays/../x.npy", "C:\\x.json", "arrays/", "Ünï.json", "x.py"],
)
def test_member_names_that_lead_elsewhere(saved, zips, name, refused):
    unpacked, packed = zips
    packed(saved, {**unpacked(saved), name: b"x"}, mended=False)
    refused(saved, "a name that no model has")


def test_links_twins_encryption_and_other_packing(saved, zips, refused):
    unpacked, _ = zips
    members = unpacked(saved)

    def write(change):
        with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members.items():
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                change(info)
                file.writestr(info, data)

    def link(info):
        if info.filename == "notes.json":
            info.external_attr = (stat.S_IFLNK | 0o777) << 16

    def lzma(info):
        if info.filename == "notes.json":
            info.compress_type = zipfile.ZIP_LZMA

    write(link)
    refused(saved, "a link or a device")
    write(lzma)
    refused(saved, "packed in a way")
    write(lambda info: None)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(saved, "a") as file:
        file.writestr("notes.json", members["notes.json"])
    refused(saved, "two members of one name")
    write(lambda info: None)
    data = bytearray(saved.read_bytes())
    at = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 1)  # the second member
    data[at + 8] |= 1
    saved.write_bytes(data)
    refused(saved, "encrypted")


def test_members_over_each_other(saved, refused):
    data = bytearray(saved.read_bytes())
    first = data.find(b"PK\x01\x02")
    second = data.find(b"PK\x01\x02", first + 1)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    saved.write_bytes(data)
    refused(saved, "lie over each other")


def test_too_many_members(saved, zips, refused):
    unpacked, packed = zips
    members = unpacked(saved) | {f"arrays/a{at}.npy": b"" for at in range(10_000)}
    packed(saved, members, mended=False)
    refused(saved, "more than the 10000 members")


def test_a_directory_of_members_without_end(saved, refused):
    data = saved.read_bytes()
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 5, 5, archive.MAX_DIRECTORY + 1, 0, 0)
    saved.write_bytes(data[:-22] + end)
    refused(saved, "members allowed")


def test_limits_of_size(saved, refused):
    refused(saved, "unpacks to .* max_bytes", lambda path: load(path, max_bytes=1000))
    with pytest.raises(ParameterError, match="max_bytes"):
        load(saved, max_bytes=0)


def test_bombs_are_refused_in_bounded_memory(saved, zips, refused):
    unpacked, _ = zips
    members = unpacked(saved)
    manifest = json.loads(members["manifest.json"])
    name = next(name for name in members if "table" in name)
    huge = 3 << 26
    manifest["members"][name].update(bytes=huge, shape=[huge // 8])
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as file:
        for own, data in members.items():
            with file.open(own, "w") as member:
                if own == name:
                    for _ in range(huge >> 20):
                        member.write(bytes(1 << 20))
                else:
                    member.write(data)
    tracemalloc.start()
    refused(saved, "must hold an array of shape")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_a_manifest_that_is_a_bomb(tmp_path, refused):
    path = tmp_path / "bomb.cw"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", bytes(archive.MAX_TEXT + 1))
    refused(path, "impossible size")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", b"[" + b"[]," * 5_000_000 + b"[]]")
    refused(path, "more than 4000000 values")


# --- what cannot be saved --------------------------------------------------------------------


class Own(cw.NaiveBayes):
    pass


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (GaussianNB(), "got a GaussianNB. .*skops"),
        (cw.NaiveBayes(), "must be fitted"),
        (cw.Decide(cw.NaiveBayes()), "this Decide is not"),
        (cw.Decide(GaussianNB()).fit([[0.0], [1.0]], [0, 1]), "a Decide over a GaussianNB"),
        (Own().fit([[0.5], [1.5]], [0, 1]), "fit_counts"),
        (cw.read("sample:weather"), "rows belong"),
        ({"a": 1}, "got a dict"),
        (None, "got a NoneType"),
    ],
)
def test_what_cannot_be_saved(thing, words, tmp_path):
    with pytest.raises(StoreError, match=words):
        save(thing, tmp_path / "x.cw")
    assert not list(tmp_path.iterdir())


def test_parameters_that_cannot_be_saved(rows, y, tmp_path):
    wheel = cw.RouletteWheel(np.random.default_rng(0))
    with pytest.raises(StoreError, match="seed as a whole number"):
        save(cw.Decide(cw.NaiveBayes(), wheel).fit(rows, y), tmp_path / "x.cw")
    model = cw.NaiveBayes().fit(rows, y)
    nested = []
    nested.append(nested)
    for notes in (object(), b"bytes", nested, 10**100):
        with pytest.raises(StoreError, match="saved_with must"):
            save(model, tmp_path / "x.cw", notes=notes)
    model.counts_.weight[0] = np.nan
    with pytest.raises(StoreError, match="counts_ is not sound"):
        save(model, tmp_path / "x.cw")
    assert not list(tmp_path.iterdir())
