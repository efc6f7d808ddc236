"""scikit-learn's own checks, on every example of the registry and every other estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import countwise as cw
from countwise.models import registry

ESTIMATORS = [
    *(entry.build(example) for entry in registry.models() for example in entry.examples),
    cw.NaiveBayes(numeric="kernel"),
    cw.NaiveBayes(variance="shared"),
    cw.DiscreteBayes(),
    cw.Quantizer(),
    cw.Quantizer("information", levels="merit"),
    cw.Decide(cw.NaiveBayes()),
]


def list_expected_failures(estimator):
    """Return the checks that an example fails by what its parameters mean."""
    failures = {}
    if getattr(estimator, "drop_least", 0) == 1:
        failures["check_classifiers_train"] = "one of the two columns that matter is dropped"
    if getattr(estimator, "method", None) == "hart":
        reason = "Hart's set depends on the order in which rows come, so also on repeated ones"
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
    return failures


@pytest.mark.filterwarnings("ignore::countwise.errors.UnseenLevelWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=list_expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
