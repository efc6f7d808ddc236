"""Each parameter line admits what it says and refuses what it must, in one sentence."""

import pytest

import countwise as cw
from countwise.errors import ParameterError
from countwise.models import registry
from countwise.params import check

LINES = [
    (owner, name, parameter)
    for owner in (*(entry.load() for entry in registry.models()), cw.Quantizer)
    for name, parameter in owner.PARAMETERS.items()
]


@pytest.mark.parametrize(
    ("owner", "name", "parameter"), LINES, ids=[f"{o.__name__}.{n}" for o, n, _ in LINES]
)
def test_a_parameter_line(owner, name, parameter):
    assert name in owner().get_params()
    assert parameter.help
    for value in (*parameter.constraint.good, owner().get_params()[name]):
        check(owner.__name__, {name: parameter}, {name: value})
    assert parameter.constraint.bad
    for value in parameter.constraint.bad:
        with pytest.raises(ParameterError, match=f"{name} must be"):
            owner(**{name: value}).fit([[1.0], [2.0]], ["a", "b"])


def test_every_parameter_has_a_line():
    for owner, _, _ in LINES:
        assert set(owner.PARAMETERS) == set(owner().get_params())
