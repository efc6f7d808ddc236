"""Trees of TAN against Weka's, edge by edge; see structure.json for how they were made."""

import json
from pathlib import Path

import pytest

import countwise as cw
from countwise.discretize.cuts import Cuts
from countwise.models.bayes.tan import TAN

GOLDEN = json.loads((Path(__file__).parent / "structure.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["weather", "votes", "iris"])
def test_edges_are_wekas(name):
    table = cw.read(f"sample:{name}", **({"when_missing": "drop"} if name == "votes" else {}))
    model = TAN(cuts="mdl").fit(table)
    expected = {frozenset(edge) for edge in GOLDEN[name]}
    assert {frozenset((edge.parent, edge.child)) for edge in model.tree_} == expected
    if name == "votes":
        assert len(table) == 232
    # The same tree whatever it hangs from, and on a table that was cut before.
    cut = Cuts("mdl").fit(table).transform(table)
    for root in (table.schema.attributes[0].name, table.schema.attributes[-1].name):
        other = TAN(root=root).fit(cut)
        assert other.root_ == root
        assert {frozenset((edge.parent, edge.child)) for edge in other.tree_} == expected
