"""One small example for each helper of the papers."""

from countwise_papers.claims import paper_of
from countwise_papers.findings import data_hash, figure, held, summarize
from countwise_papers.reproduce import code_version


def test_code_version_example():
    assert len(code_version()) == 16


def test_summarize_example():
    agree = [figure("P4.9", "x", "0.06", 0.06)] * 3
    assert summarize(agree) == "3 printed figures: 3 agree"
    every = [*agree, figure("P4.9", "x", "0.06", 0.07), held("P4.9", "x", True)]
    assert summarize(every) == "4 printed figures: 3 agree, 1 differs; 1 addition of ours"
    assert summarize([]) == "no figures"


def test_paper_of_example():
    assert paper_of("P3.6").authors == "Panda and Garg"


def test_data_hash_example():
    assert (data_hash("iris") == data_hash("iris"), len(data_hash("iris"))) == (True, 16)
