"""JSON that is nested without end is refused in one sentence by every command that reads it."""

import json

import pytest

from .conftest import refused

DEEP = {
    "objects": '{"a": ' * 100_000 + "1" + "}" * 100_000,
    "lists": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "an array of them": "[" * 100_000 + "]" * 100_000,
    "behind a row": '{"a": 1}\n' + '{"a": ' * 100_000,
    "behind half a text": '{"a": "\n' + '{"a": ' * 100_000,
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(
    "command",
    [
        "inspect deep.jsonl",
        "fit deep.jsonl -o new.cw",
        "predict m.cw deep.jsonl",
        "compare deep.jsonl",
    ],
)
def test_deep_json_is_refused_before_a_parser_follows_it(run, folder, deep, command):
    (folder / "deep.jsonl").write_text(deep)
    before = sorted(folder.iterdir())
    message = refused(run(*command.split()))
    assert "nested deeper than 100 levels" in message
    assert len(message) < 300
    assert sorted(folder.iterdir()) == before


def test_brackets_within_texts_do_not_nest(run, folder):
    lines = (json.dumps({"a": 'say \\" ' + "[{" * 200, "class": word}) for word in "yn" * 9)
    (folder / "texts.jsonl").write_text("\n".join(lines))
    assert run("inspect", "texts.jsonl").exit_code == 0


def test_a_deep_schema_is_refused(run, folder):
    (folder / "deep.json").write_text('{"columns": ' + "[" * 100_000)
    assert "nested deeper than 100 levels" in refused(
        run("inspect", "good.csv", "--schema", "deep.json")
    )


def test_a_deep_parameter_is_refused(run, folder):
    deep = "[" * 500 + "]" * 500
    refused(run("fit", "good.csv", "--param", f"monotone={deep}", "-o", "new.cw"))
