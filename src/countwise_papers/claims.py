"""The five papers, and the requirements they set, by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A study: its short name, its authors and its subject."""

    name: str
    authors: str
    title: str


#: The five studies by their short names.
PAPERS: Mapping[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper("p0", "Liu, Gegov and Cocea", "Probabilistic voting against argmax"),
        Paper("p1", "Smart, Leh and Marsh (2016)", "Four learners on five data sets"),
        Paper("p2", "Stefanowski (2013)", "Non-symbolic methods: a lecture"),
        Paper("p3", "Panda and Garg", "The discrete Bayes decision rule"),
        Paper("p4", "Kuo", "Introductory applied machine learning: a lecture"),
    )
}

#: Every requirement in a phrase.
LEDGER: Mapping[str, str] = {
    "P0.1": "five distances (eq. 2 to 8)",
    "P0.2": "naive Bayes as a product of posteriors",
    "P0.3": "naive Bayes by Bayes' rule",
    "P0.4": "five nearest neighbors, majority vote (Fig. 1)",
    "P0.5": "the roulette wheel on Table 1",
    "P0.6": "accuracies on 15 data sets (Table 3)",
    "P0.7": "kNN for K = 2 to 5, both votes (Fig. 2)",
    "P0.8": "probabilistic voting inside bagging",
    "P0.9": "wins of the wheel, counted",
    "P1.1": "identifiers left out",
    "P1.2": "binning learned on the training fold",
    "P1.3": "stratified ten-fold cross-validation",
    "P1.4": "missing values by column",
    "P1.5": "Minkowski distance with VDM",
    "P1.6": "precision over k and p (Fig. 1)",
    "P1.7": "naive Bayes and its probability table (Fig. 2)",
    "P1.8": "TAN and its tree (Fig. 3)",
    "P1.9": "ID3 and its tree (Fig. 4)",
    "P1.10": "four learners on five data sets (Table 1)",
    "P1.11": "learning curves (Fig. 5)",
    "P1.12": "best number of bins and number of classes",
    "P2.1": "naive Bayes on the weather data",
    "P2.2": "missing values in naive Bayes",
    "P2.3": "kernel densities for numeric attributes",
    "P2.4": "normalized distances, nominal and missing values",
    "P2.5": "distance-weighted neighbors, also for numbers",
    "P2.6": "locally weighted regression",
    "P2.7": "weighting or dropping attributes",
    "P2.8": "condensed nearest neighbor",
    "P2.9": "perceptron and multi-layer perceptron",
    "P2.10": "lazy and eager learning: times measured separately",
    "P2.11": "redundant columns, noise, irrelevant columns, families of models",
    "P2.12": "text classification by counts of words",
    "P3.1": "the Bayes rule of a gain matrix",
    "P3.2": "confusion as joint probabilities, expected gain",
    "P3.3": "levels from a memory budget",
    "P3.4": "equal-probability boundaries",
    "P3.5": "addresses, tables, posteriors",
    "P3.6": "boundary optimization",
    "P3.7": "bin smoothing (Table I)",
    "P3.8": "train, validate, test: gain and accuracy",
    "P3.9": "a toolkit for any classification problem",
    "P4.1": "kNN weighted by 1/d², and 1-NN regions",
    "P4.2": "Bayes' theorem: meningitis",
    "P4.3": "naive Bayes on the tax table",
    "P4.4": "continuous attributes: split or density",
    "P4.5": "naive Bayes on the vertebrates",
    "P4.6": "zero probabilities: Laplace and m-estimate",
    "P4.7": "the minimum possible error",
    "P4.8": "logistic weights from Gaussian naive Bayes",
    "P4.9": "the error of 25 independent members",
    "P4.10": "bagging and the 0.632 bootstrap",
    "P4.11": "AdaBoost",
    "P4.12": "robustness of naive Bayes, size of k, variance under bagging",
}


def paper_of(ledger: str) -> Paper:
    """Return the paper of an id."""
    return PAPERS[ledger.split(".")[0].lower()]
