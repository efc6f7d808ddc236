"""Make up messages to the help desk of a shop, from sentence patterns and a fixed seed.

Read by ``build_samples.py``, which writes them as the sample ``help-desk``. Every team has phrases
of its own and some that it shares with others; some messages were sent to the wrong team, and a few
are empty. So no classifier can be right everywhere.
"""

from __future__ import annotations

import random

TEAMS = ("billing", "delivery", "returns", "technical")
CHANNELS = ("email", "chat", "phone")
HEADER = ("message", "channel", "order value", "team")
ROWS, SEED = 600, 20240517

_ITEMS = [
    "kettle",
    "lamp",
    "router",
    "keyboard",
    "blender",
    "jacket",
    "backpack",
    "monitor",
    "charger",
    "toaster",
]
_OPENINGS = (
    "Hello,",
    "Hi there,",
    "Good morning,",
    "Dear team,",
    "Please help:",
    "",
    "",
)
_ENDINGS = (
    "Thanks in advance.",
    "Please call me back.",
    "I look forward to your answer.",
    "This is the second time I ask.",
    "What can I do now?",
    "",
    "",
)
_SHARED = (
    "I bought the {item} last week.",
    "My order number is {number}.",
    "I am not happy about the {item}.",
    "The {item} came on {day}.",
    "I have been a customer for {few} years.",
    "Nobody answered my last message about the {item}.",
)
_PHRASES = {
    "billing": (
        "I was charged twice for the {item}.",
        "The invoice shows the wrong amount.",
        "My card was declined, but the bank says the payment went through.",
        "Where do I find the invoice for my tax office?",
        "The discount code was not applied to the total.",
        "You took {few} euros more than the price of the {item}.",
        "I would like to pay by bank transfer instead of card.",
    ),
    "delivery": (
        "The parcel has not arrived yet.",
        "The tracking page has said 'on its way' for {few} days.",
        "The driver left the {item} at the wrong address.",
        "Can you deliver the {item} on {day} instead?",
        "My parcel was open and the box was wet.",
        "The courier says nobody was home, but I waited all {day}.",
        "When will the {item} be shipped?",
    ),
    "returns": (
        "I want to send the {item} back and get a refund.",
        "The {item} is too small, can I exchange it?",
        "Where do I print the return label?",
        "I returned the {item} {few} weeks ago and still wait for my money.",
        "The {item} is not what the picture showed, please take it back.",
        "How long may I keep the {item} before I return it?",
        "The refund for the {item} is lower than what I paid.",
    ),
    "technical": (
        "The {item} does not turn on any more.",
        "The {item} keeps losing its connection.",
        "The screen of the {item} flickers after {few} minutes.",
        "I cannot find the settings in the manual.",
        "The update failed with an error, and now the {item} is stuck.",
        "The battery of the {item} gets very hot.",
        "The app cannot find the {item}.",
    ),
}
_USUAL_ORDER = {"billing": 90.0, "delivery": 60.0, "returns": 75.0, "technical": 140.0}
_CHANNEL_WEIGHTS = {
    "billing": (5, 2, 2),
    "delivery": (2, 4, 3),
    "returns": (4, 4, 1),
    "technical": (2, 3, 5),
}


def rows() -> list[list[str]]:
    """Return the rows of the sample as text, the same at every call."""
    chance = random.Random(SEED)
    return [_row(chance) for _ in range(ROWS)]


def _row(chance: random.Random) -> list[str]:
    about = chance.choice(TEAMS)
    team = chance.choice(TEAMS) if chance.random() < 0.06 else about
    channel = chance.choices(CHANNELS, _CHANNEL_WEIGHTS[about])[0]
    value = f"{chance.gammavariate(2.0, _USUAL_ORDER[about] / 2):.2f}"
    message = "" if chance.random() < 0.01 else _message(about, chance)
    return [message, channel, "" if chance.random() < 0.05 else value, team]


def _message(about: str, chance: random.Random) -> str:
    other = chance.choice(TEAMS)
    sentences = [chance.choice(_PHRASES[about])]
    if chance.random() < 0.35:
        sentences.append(chance.choice(_PHRASES[about]))
    if chance.random() < 0.3:
        sentences.append(chance.choice(_PHRASES[other]))
    sentences += chance.sample(_SHARED, chance.randint(1, 2))
    chance.shuffle(sentences)
    parts = [chance.choice(_OPENINGS), *dict.fromkeys(sentences), chance.choice(_ENDINGS)]
    return " ".join(part for part in parts if part).format(
        item=chance.choice(_ITEMS),
        number=chance.randint(10_000, 99_999),
        few=chance.choice(("two", "three", "four", "five")),
        day=chance.choice(("Monday", "Tuesday", "Friday", "Saturday")),
    )
