"""Words of English that tell the parts of a request apart, and the stem of a word. Data, kept small and general."""

from __future__ import annotations

import re


def _list(words: str) -> list[str]:
    return words.split()


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


EDGE_WORDS = _set(
    """
    a an the this that these those my your our their his her its some any of in on at to for from by with about into
    as and or but so if is are was were be been do does did has have had will would can could should may might must
    i you we they he she it me us them there here please what which who whom whose when where why how than then just
    also only now again many much more most anything something everything without per because since over under above
    below until before after during between through against up down out called named titled labelled saying it's i'd
    i'm what's who's where's let's don't
    """
)
"""Neither begin nor end a value, unless they are capitalised inside a sentence ("The Wall")."""

FREE_NAMES = _set(
    """
    text body message content query question subject title note reason comment description sql pattern task words
    prompt summary name label phrase sentence topic keywords search caption remark resolution details feedback
    review claim statement
    """
)
"""Names of arguments that take words as they were said rather than the name of something."""

NAMING_NAMES = _set("title name label")
"""Of these, the ones whose words are a name all the same: they end where another phrase begins ("by ...")."""

CODE_NAMES = _set(
    """
    id sku symbol ticker number code key ref reference serial isbn vin iban version digits pin plate host
    """
)
"""Names of arguments that take something like an article number."""

PATH_NAMES = _set(
    """
    path file folder directory dir filename document
    """
)
"""Names of arguments that take the path of a file."""

ASKING = _set(
    """
    want need like know hear show tell give find get look see check make put let help mention
    """
)
"""Ask for something and do not begin a value ("hear Jolene" asks for Jolene)."""

VERBS = _set(
    """
    add arrange ask assign attach book bring build buy calculate call cancel change charge check clean clear close
    compare compute connect convert copy count create delete deliver describe disable display download draw drop
    edit email enable estimate explain export extend fetch file fill find fix forward generate get give go grab heat
    help hide import increase decrease insert install invite launch lend let list load locate lock log look lower
    mail make mark measure merge message move mute notify open order pause pay phone pick plan play post preheat
    prepare print publish purchase put raise read record refund register release remember remind remove rename renew
    reopen reorder repeat replace reply report request reschedule reserve reset resize restart restore resume return
    review rotate run save say scale scan schedule search sell send set share shift ship show shuffle shut skip
    solve sort split start stop store submit subscribe subtract sum summarise summarize switch sync take tell text
    throw track transfer translate turn unlock update upgrade upload use vacuum verify visit wake watch water
    withdraw write
    """
)
"""Begin a command; with the verbs of the tool's own description they are never a value."""

DETERMINERS = _set(
    """
    the a an my our all this that these those me us some every each its his her their
    """
)
"""Show that the word before them is a verb."""

NAME_JOINTS = _set(
    """
    of in the and de la von van on for at a du des der das el los las y
    """
)
"""Stand inside names: "Bank of America"."""

QUESTION_WORDS = _set(
    """
    what what's which who who's whose where where's when why how is are was were do does did has have
    """
)
"""Begin a question."""

POLITE = _set(
    """
    please can could would will you kindly just now then also and i i'd we need want like to
    """
)
"""Come before the verb of a command."""

AVOIDING = _set(
    """
    avoid no not skip exclude without disable hide ignore mute dry
    """
)
"""Turn the sense of a yes-or-no argument: `avoid_tolls`."""

NEGATIVE = _set(
    """
    off no not without don't never disable disabled stop false hide hidden close closed
    """
)
"""Say no."""

COUNTING = _set(
    """
    limit count top max maximum n k number num size
    """
)
"""Names of arguments that bound how much is shown."""

COUNTED = _set(
    """
    result hit match entr item row
    """
)
"""Stems of what is shown."""

SOURCES = _set(
    """
    from source src origin old start departure sender
    """
)
"""Names of arguments for the first of two places, units or files."""

TARGETS = _set(
    """
    to target destination dest new end arrival into recipient
    """
)
"""Names of arguments for the second."""

CHANGING = _set(
    """
    add approve archive assign attach block book borrow buy cancel change clear close commit copy create delete
    disable drop edit enable insert install invite kill lock make mark merge modify move open order pay post publish
    purchase push put refund reject remove rename renew reorder replace reserve reset restart restore revoke save
    sell send set ship start stop submit subscribe switch transfer turn unlock unsubscribe update upgrade upload
    wipe write
    """
)
"""Begin the names of tools that change something: a question is no order to use them."""

LIGHT = _set(
    """
    make get give show set put do take tell let want need like please
    """
)
"""Say nothing about which tool is meant."""

LEADS = _set("by for because with about as in at from under on to into since")
"""Introduce what may be left out: "*for* the rent"."""

SMALL_NUMBERS = _list(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """
)
TENS = dict(zip(_list("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True))
MONTHS = _list("january february march april may june july august september october november december")


def stem(word: str) -> str:
    """A word without its common English endings; only ever compared with another stem."""
    w = word.lower().strip(".,;:!?'\"")
    for ending in ("ing", "ies", "ed", "es", "ly", "s"):
        if w.endswith(ending) and len(w) - len(ending) >= 3:
            w = w[: -len(ending)]
            break
    return w[:-1] if len(w) > 3 and w[-1] in "eyi" else w


def stems(*texts: str) -> frozenset[str]:
    """The stems of the words of names and descriptions, little words left out."""
    words = re.findall(r"[A-Za-z][A-Za-z'-]*|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", " ".join(texts)))
    return frozenset(stem(w) for w in words if w.lower() not in EDGE_WORDS)
