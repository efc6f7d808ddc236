"""Importing the package must cost next to nothing."""

import json
import subprocess
import sys

import pytest

import countwise

HEAVY = {"sklearn", "pandas", "duckdb", "pyarrow", "polars", "scipy", "narwhals", "click", "rich"}


def modules_after(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint(json.dumps([m.split('.')[0] for m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_countwise_pulls_in_nothing_heavy():
    assert not modules_after("import countwise") & HEAVY


def test_reading_an_array_needs_no_frame_library():
    code = "import countwise, numpy\ncountwise.count(numpy.eye(3), target=['a', 'b', 'a'])"
    assert not modules_after(code) & (HEAVY - {"scipy"})


def test_decisions_about_arrays_need_no_scikit_learn():
    code = (
        "import countwise, numpy\n"
        "countwise.ExpectedGain([[1, -1], [-2, 3]]).choose(numpy.array([[0.5, 0.5]]))"
    )
    assert "sklearn" not in modules_after(code)


@pytest.mark.parametrize("name", countwise.__all__)
def test_every_public_name_is_there_and_says_what_it_is_for(name):
    thing = getattr(countwise, name)
    if name == "__version__":
        assert thing.count(".") == 2
        return
    assert thing.__doc__
    first = thing.__doc__.strip().splitlines()[0]
    assert first.endswith((".", ":"))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'naive'"):
        _ = countwise.naive


def test_dir_lists_the_public_names():
    assert set(countwise.__all__) <= set(dir(countwise))
