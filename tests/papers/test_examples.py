"""What the inner parts of papers answer, one small example each."""

from countwise_papers.claims import paper_of
from countwise_papers.findings import data_hash, said
from countwise_papers.reproduce import code_version


def test_code_version_example():
    assert len(code_version()) == 16


def test_said_example():
    assert said({"agrees": 3, "differs": 1}) == "3 agree, 1 differs"


def test_paper_of_example():
    assert paper_of("P3.6").authors == "Panda and Garg"


def test_data_hash_example():
    assert (data_hash("iris") == data_hash("iris"), len(data_hash("iris"))) == (True, 16)
