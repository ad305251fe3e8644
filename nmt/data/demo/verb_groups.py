"""Which verbs make sense where: as a purpose, a reason, a habit, in good weather or in bad."""

from __future__ import annotations

from collections.abc import Iterable

from nmt.data.demo.lexicon import Verb, all_verbs


def tags(text: str) -> frozenset[str]:
    """A set of the words."""
    return frozenset(text.split())


def _those(verbs: Iterable[Verb], bases: frozenset[str]) -> tuple[Verb, ...]:
    return tuple(item for item in verbs if item.base in bases)


def _others(verbs: Iterable[Verb], bases: frozenset[str]) -> tuple[Verb, ...]:
    return tuple(item for item in verbs if item.base not in bases)


# Moods that are a reason for an action.
MOODS_FOR = {
    "eat": ("hungry",),
    "cook": ("hungry",),
    "bake": ("hungry", "happy"),
    "sleep": ("tired", "sick"),
    "stay": ("tired", "sick", "sad"),
    "drink": ("tired", "happy", "sad"),
    "sit": ("tired", "sad"),
    "wait": ("sad", "tired"),
    "sing": ("happy",),
    "dance": ("happy",),
    "play": ("happy",),
    "laugh": ("happy",),
    "cry": ("sad", "tired", "hungry", "sick"),
    "call": ("sad", "sick", "happy"),
    "visit": ("sad", "happy"),
    "go": ("tired", "hungry", "sick"),
    "think": ("sad", "happy"),
}

# Verbs whose frame leads to another clause, or to a subject that is no person, have patterns of their own.
_OWN_PATTERN = frozenset({"be", "begin", "price", "sky", "that", "try"})
ACTIONS = tuple(item for item in all_verbs() if item.frame not in _OWN_PATTERN and item.base != "ask")
# What lasts: no clock times, no days.
STATES = tags("love like need have live understand")
# What is worth a year, and what does not happen every day.
MEMORABLE = tags("build live love buy sell travel visit work repair paint have see write stay like")
ONCE = tags("lose find build arrive come sell forget stay")
MAKING = tags("write bake cook build paint")
TRADING = tags("buy sell need")
COSTLY = tags("buy build travel drive visit eat drink give wear invite repair bring send")
# Where an adverbial goes with the verb: for somebody, with somebody, somewhere.
FOR_OTHERS = tags("buy bake cook paint wash repair clean sing carry write")
WITH_OTHERS = tags("eat sing cook bake visit play dance work go travel drive")
SOMEWHERE = tags("see read write find lose sing eat drink forget paint")

INDOOR_VERBS = _those(
    ACTIONS, tags("stay read write cook bake sleep close drive eat drink work clean wash think turn call repair tell")
)
OUTDOOR_VERBS = _those(ACTIONS, tags("go travel play dance open paint sing visit invite look see sit pick help"))

# What somebody decides to do, and what is done and over.
DELIBERATE = _others(ACTIONS, tags("lose forget love like need have come live stay understand build"))
EVENTS = _others(DELIBERATE, tags("sit stand sleep work wait hear wear think carry laugh cry"))
PURPOSES = tuple(
    item for item in EVENTS if item.frame not in ("arrival", "alone", "acc put") and item.base not in ("close", "turn")
)
ERRANDS = _those(
    PURPOSES, tags("visit see look buy sell help thank talk work read sing dance play bring give show invite")
)
_REASONABLE = _others(DELIBERATE, tags("hear see find"))
REASONED = tuple(item for item in ACTIONS if item.base in MOODS_FOR or item in _REASONABLE)
MOVES = tuple(item for item in ACTIONS if item.frame in ("goal", "city", "drive"))
FAVOURS = _those(ACTIONS, tags("open close turn give bring buy repair call help show"))
CHOICES = tuple(item for item in ACTIONS if item.name in ("buy", "like", "read", "look at", "sell"))
HANDLED = tuple(
    item
    for item in _those(ACTIONS, tags("buy sell find lose read write bake cook paint build repair see open clean"))
    if item.frame == "acc"
)

# What somebody wants when doing something: "opens the window because she wants to hear the bird".
_WISHES = {
    "open close": "see look sleep work read clean",
    "turn-on": "read work dance sing write",
    "turn-off": "sleep go work read",
    "buy bring": "cook bake eat invite thank give",
    "sell": "buy build travel drive",
    "give show send tell call write paint sing": "thank help invite visit",
    "look find carry": "read open give sell show",
    "put lay": "clean play work",
    "wash clean repair cook bake": "invite help sell give",
    "wear": "dance go visit drive",
    "work": "buy travel build visit",
    "wake get": "work drive travel go visit",
    "arrive go travel drive": "visit see help work look",
    "read": "understand tell work help",
    "eat drink": "work play dance go",
}
_COMPANY = tags("visit help see thank invite")


def wishes_for(verb: Verb) -> tuple[Verb, ...]:
    """Verbs for what somebody wants who does what this verb says."""
    names = (verb.base, verb.name.replace(" ", "-"))
    wanted = next((tags(wish) for key, wish in _WISHES.items() if tags(key) & set(names)), _COMPANY)
    return _those(ACTIONS, wanted)
