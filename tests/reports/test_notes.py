"""Every code the library can attach is explained."""

import re
from pathlib import Path

import pytest

import countwise
from countwise.notes import NOTES, Note, kind_of, note_facts

SOURCE = Path(countwise.__file__).parent
CODE = re.compile(r"[\"']([A-Z]\d\d)[\"']")
DIRECT = re.compile(r"\bNote\(\s*[\"'][A-Z]\d\d[\"']")


def emitted_codes():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for code in CODE.findall(text) if "Note.of(" in text and path.name != "notes.py" else ():
            found.setdefault(code, path.name)
    return found


def test_every_code_the_library_emits_is_explained():
    emitted = emitted_codes()
    assert {"T01", "F01", "E01"} <= set(emitted)
    assert set(emitted) == set(NOTES)
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert not [path.name for path, text in texts.items() if DIRECT.search(text)]


def test_a_note_is_filled_from_the_table():
    note = Note.of("T09", "code", low=0, high=1)
    assert note.code == "T09"
    assert str(note).endswith("if they are codes, declare it with nominal=['code'].")
    assert note.to_dict()["text"] == str(note)
    assert "`nominal=['code']`" in note.text


@pytest.mark.parametrize("code", NOTES)
def test_every_meaning_has_words(code):
    meaning = NOTES[code]
    assert meaning.severity in ("info", "caution", "warning")
    assert meaning.title
    assert not meaning.title.endswith(".")
    assert meaning.explanation.endswith(".")


def test_a_code_of_a_later_version_is_a_plain_remark():
    assert kind_of("Z99").severity == "info"
    assert note_facts([Note("Z99", None, "Something.")])[0]["text"] == "Something."


def test_the_most_serious_come_first_and_each_once():
    notes = [Note("T01", "a", "x"), Note("T12", "c", "y"), Note("T03", "c", "z")]
    assert [own["code"] for own in note_facts([*notes, *notes])] == ["T12", "T03", "T01"]
