"""Words that never change: conjunctions, times, adverbs, question words, numbers and places without an article."""

from __future__ import annotations

from nmt.data.demo.tree import Fixed

CONJUNCTIONS = {
    "because": Fixed("because", "weil", "0-0"),
    "although": Fixed("although", "obwohl", "0-0"),
    "that": Fixed("that", "dass", "0-0"),
    "if": Fixed("if", "wenn", "0-0"),
    "whether": Fixed("whether", "ob", "0-0"),
    "before": Fixed("before", "bevor", "0-0"),
    "while": Fixed("while", "während", "0-0"),
    "when": Fixed("when", "als", "0-0"),
    "so that": Fixed("so that", "damit", "0-0 1-0"),
}
COORDINATORS = {
    "and": Fixed("and", "und", "0-0"),
    "but": Fixed("but", "aber", "0-0"),
}

NUMERALS = {
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
    "eight": "acht",
    "nine": "neun",
    "ten": "zehn",
    "twelve": "zwölf",
}
CLOCK_TIMES = ("7:30", "8:15", "9:45", "10:30")
PRICES = ("4.80", "9.90", "20", "35", "100")
YEARS = ("1998", "2018")

_DAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}

TODAY = Fixed("today", "heute", "0-0")
NOW = Fixed("now", "jetzt", "0-0")
TOMORROW = Fixed("tomorrow", "morgen", "0-0")
YESTERDAY = Fixed("yesterday", "gestern", "0-0")
HABITS = (
    Fixed("every day", "jeden Tag", "0-0 1-1"),
    Fixed("every morning", "jeden Morgen", "0-0 1-1"),
    Fixed("every evening", "jeden Abend", "0-0 1-1"),
    Fixed("in the morning", "am Morgen", "0-0 1-0 2-1"),
    Fixed("in the evening", "am Abend", "0-0 1-0 2-1"),
    Fixed("in the summer", "im Sommer", "0-0 1-0 2-1"),
    Fixed("in the winter", "im Winter", "0-0 1-0 2-1"),
    Fixed("this week", "diese Woche", "0-0 1-1"),
)
DAYS = tuple(Fixed(f"on {english}", f"am {german}", "0-0 1-1") for english, german in _DAYS.items())
LAST = (
    Fixed("last week", "letzte Woche", "0-0 1-1"),
    Fixed("last year", "letztes Jahr", "0-0 1-1"),
    Fixed("last summer", "letzten Sommer", "0-0 1-1"),
    Fixed("last winter", "letzten Winter", "0-0 1-1"),
)
NEXT = (
    Fixed("next week", "nächste Woche", "0-0 1-1"),
    Fixed("next year", "nächstes Jahr", "0-0 1-1"),
    Fixed("next summer", "nächsten Sommer", "0-0 1-1"),
)
AGO = tuple(
    Fixed(f"{english} {unit} ago", f"vor {german} {german_unit}", "0-1 1-2 2-0")
    for english, german in NUMERALS.items()
    for unit, german_unit in (("days", "Tagen"), ("weeks", "Wochen"), ("years", "Jahren"))
)
IN_YEARS = tuple(Fixed(f"in the year {year}", f"im Jahr {year}", "0-0 1-0 2-1 3-2") for year in YEARS)
AT_TIMES = (
    *(Fixed(f"at {time}", f"um {time} Uhr", "0-0 1-1 1-2") for time in CLOCK_TIMES),
    *(Fixed(f"at {english} o'clock", f"um {german} Uhr", "0-0 1-1 2-2") for english, german in NUMERALS.items()),
)

OFTEN = Fixed("often", "oft", "0-0")
ALWAYS = Fixed("always", "immer", "0-0")
NEVER = Fixed("never", "nie", "0-0")
SOMETIMES = Fixed("sometimes", "manchmal", "0-0")
ALREADY = Fixed("already", "schon", "0-0")
VERY = Fixed("very", "sehr", "0-0")

WHERE = Fixed("where", "wo", "0-0")
WHEN = Fixed("when", "wann", "0-0")
WHY = Fixed("why", "warum", "0-0")
WHAT = Fixed("what", "was", "0-0")
WHO = Fixed("who", "wer", "0-0")
HOW_MUCH = Fixed("how much", "wie viel", "0-0 1-1")
HOW_OFTEN = Fixed("how often", "wie oft", "0-0 1-1")

HOME = Fixed("home", "nach Hause", "0-0 0-1")
AT_HOME = Fixed("at home", "zu Hause", "0-0 1-1")


def price(amount: str) -> Fixed:
    """ "4.80 euros": the decimal point becomes a comma."""
    return Fixed(f"{amount} euros", f"{amount.replace('.', ',')} Euro", "0-0 1-1", plural=True)
