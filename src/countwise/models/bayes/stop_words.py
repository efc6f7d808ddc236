"""Common English words, which say little about the class and can be left out."""

from __future__ import annotations

from collections.abc import Collection

_ENGLISH = """
a an the this that these those some any each every all both few many much more most other another
such no not nor only own same so than too very just also even still yet then there here now again
i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
we us our ours ourselves they them their theirs themselves who whom whose which what when where why
how is am are was were be been being have has had having do does did doing done will would shall
should can could may might must of to in on at by for from with without within about against between
into through during before after above below over under up down out off onto upon and or but if
because as until while although though whether either neither once i'm i've i'll i'd you're you've
you'll he's she's it's we're we've we'll they're they've they'll that's there's isn't aren't wasn't
weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shouldn't can't couldn't mustn't
"""

ENGLISH = frozenset(_ENGLISH.split())


def stop_list(given: str | Collection[str]) -> frozenset[str]:
    """Return the words to leave out: those given, or the usual English ones."""
    return ENGLISH if isinstance(given, str) else frozenset(map(str, given))
