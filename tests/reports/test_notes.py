"""Every code the library can attach is explained."""

import re
from pathlib import Path

import pytest

import countwise
from countwise.notes import NOTES, Note, meaning_of, note_facts

SOURCE = Path(countwise.__file__).parent
EMITTED = re.compile(r"\bNote\(\s*[\"']([A-Z]\d\d)[\"']")


def emitted_codes():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for code in EMITTED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(code, path.name)
    return found


def test_every_code_the_library_emits_is_explained():
    emitted = emitted_codes()
    assert {"T01", "F01", "E01"} <= set(emitted)
    assert not {code: where for code, where in emitted.items() if code not in NOTES}


@pytest.mark.parametrize("code", NOTES)
def test_every_meaning_has_words(code):
    meaning = NOTES[code]
    assert meaning.severity in ("info", "caution", "warning")
    assert meaning.title
    assert not meaning.title.endswith(".")
    assert meaning.explanation.endswith(".")


def test_a_code_of_a_later_version_is_a_plain_remark():
    assert meaning_of("Z99").severity == "info"
    assert note_facts([Note("Z99", None, "Something.")])[0]["text"] == "Something."


def test_the_most_serious_come_first_and_each_once():
    notes = [Note("T01", "a", "x"), Note("T12", "c", "y"), Note("T03", "c", "z")]
    assert [own["code"] for own in note_facts([*notes, *notes])] == ["T12", "T03", "T01"]
