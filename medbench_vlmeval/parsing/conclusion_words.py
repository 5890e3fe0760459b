"""Sentences that conclude a description, as patterns; `conclusions` says which one counts.

Every repetition is bounded, so that a search takes time linear in the length of the text.
"""

from __future__ import annotations

import re

LEADS = frozenset(
    {"and", "but", "so", "thus", "therefore", "hence", "overall", "while", "although", "whereas"}
    | {"that", "conclude", "say", "think", "believe", "however", "finally", "conclusion", "summary"}
    | {
        "i",
        "i'd",
        "we",
        "one",
        "would",
        "can",
        "should",
        "must",
        "could",
        "to",
        "is",
        "are",
        "this",
    }
    | {"because", "since", "as", "consequently", "find", "judge", "feel", "the", "an", "a"}
)
"""Words that may stand right before a conclusion; after others ("of", "not", "if") it is none."""

_S = r"\s{1,3}"
_OPEN = r"[\s\"'“‘(\[<:*]{0,5}"
_CLOSE = r"[\"'”’)\]>]{0,3}"
_NOUN = (
    r"(?:images?|scans?|slices?|pictures?|photographs?|photos?|frames?|radiographs?|sections?|"
    r"one)\b"
)
_KIND = r"(?:overall|visual|general|image|perceptual|perceived|diagnostic|technical|final|imaging)"
_QUALITY = rf"(?:{_KIND}{_S}){{0,3}}quality\b"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


# The grade of one image.

_GRADE = r"(?:good|usable|reject(?:ed)?)"
_VERDICT = (
    rf"(?:{_KIND}{_S}){{0,3}}(?:quality(?:{_S}(?:grade|rating|level|category))?|grade|rating|verdict|"
    r"assessment|classification|conclusion|category)\b"
)
_IMAGE = rf"(?:this|the|that)(?:{_S}(?!of\b|in\b|for\b|on\b|is\b)[\w-]{{1,20}}){{0,3}}?{_S}{_NOUN}"
_SUBJECT = (
    rf"(?:(?:(?:the|its|this){_S})?{_VERDICT}(?:{_S}(?:of|for){_S}(?:{_IMAGE}|it\b|this\b))?|"
    rf"{_IMAGE}(?:'s)?(?:{_S}{_VERDICT})?)(?:\s?\([^()\n]{{0,40}}\))?"
)
_RATING = (
    "considered|rated|graded|classified|judged|assessed|categori[sz]ed|regarded|labell?ed|deemed|"
    "evaluated|described|assigned"
)
_IS = (
    rf"{_S}(?:is|was|remains|appears|seems|(?:can|could|should|must|may|might){_S}be|"
    rf"would{_S}be(?={_S}(?:best{_S})?(?:{_RATING})))"
)
_ADVERBS = (
    rf"(?:{_S}(?:overall|therefore|thus|still|only|just|merely|clearly|quite|very|fairly|generally|"
    rf"hence|best|to{_S}be|of|as|at|an?|the|grade|category|{_RATING})\b){{0,7}}"
)
_DENIED = rf"(?:{_S}not{_S}(?:of{_S})?{_GRADE},?{_S}but(?:{_S}(?:rather|only|still)){{0,2}})?"
_GRADE_END = (
    rf"(?![\w-]){_CLOSE}"
    rf"(?:\s?(?:/|,|-|\bor\b|\bto\b|\band\b|\|){{1,2}}\s?(?:or\s)?{_OPEN}(?P<other>{_GRADE})\b)?"
    r"(?=\s*(?:\Z|[.,;:!)}\]\"'…|<]|$|-\s)|\s{1,3}(?:quality|image|overall|for|with|but|and|due|"
    r"because|despite|as|since|given|although|though|while|by|when|category|grade|level|rather|"
    r"instead|scan|or|one|based|owing)\b)"
)
_GRADE_HERE = rf"{_OPEN}\b(?<![\w-])(?P<grade>{_GRADE}){_GRADE_END}"

GRADED = _pattern(rf"(?<![\w-]){_SUBJECT}{_IS}{_ADVERBS}{_DENIED}{_GRADE_HERE}")
"""A sentence about the image or its quality."""

RATED = _pattern(
    rf"(?<![\w-])(?:rate|grade|classify|consider|judge|deem|label|call|categori[sz]e|assess){_S}"
    rf"(?:{_SUBJECT}|it|this)(?:{_S}(?:as|to{_S}be|an?|of)){{0,2}}{_GRADE_HERE}"
)
"""As in "I would grade this image as usable"."""

LABELLED_GRADE = _pattern(
    rf"(?<![\w-])(?:overall|in{_S}conclusion|in{_S}summary|final|answer|{_VERDICT})"
    rf"(?:{_S}(?:answer|{_VERDICT}))?{_CLOSE}\s?[:=,-]{_OPEN}(?:an?{_S})?{_GRADE_HERE}"
)
"""As in "Overall: usable", also as the key of an object."""

SHOWN_GRADE = _pattern(
    rf"(?<![\w-])this{_S}(?:is|remains){_S}(?:overall{_S})?an?{_S}"
    rf"(?P<grade>good|usable)(?:{_S}(?:or{_S})?(?P<other>{_GRADE}))?(?:{_S}[\w-]{{1,20}})?{_S}{_NOUN}"
    rf"|^[^\w\n]{{0,12}}(?P<alone>{_GRADE})[^\w\n?]{{0,12}}$"
)
"""As in "This is a usable image", or the grade alone on its line."""


# The better of two images.

_FIRST = (
    rf"first{_S}(?:(?!is\b|has\b|was\b)[\w-]{{1,20}}{_S}){{0,2}}?{_NOUN}|(?<=the\s)first\b|1st{_S}{_NOUN}|"
    r"(?:image|picture|scan|figure)\s?(?:#|no\.?\s?|number\s)?(?:1|one|i)(?![\w.]?\d)\b|"
    rf"(?<=the\s)former(?:{_S}{_NOUN}|\b)"
)
_SECOND = (
    rf"second{_S}(?:(?!is\b|has\b|was\b)[\w-]{{1,20}}{_S}){{0,2}}?{_NOUN}|(?<=the\s)second\b|2nd{_S}"
    rf"{_NOUN}|(?:image|picture|scan|figure)\s?(?:#|no\.?\s?|number\s)?(?:2|two|ii)(?![\w.]?\d)\b|"
    rf"(?<=the\s)latter(?:{_S}{_NOUN}|\b)"
)
_WHICH = rf"(?:the\s)?(?:(?P<first>{_FIRST})|(?P<second>{_SECOND}))"
_ASIDE = (
    r"(?:\s?\([^()\n]{0,40}\))?(?:,\s(?:which|with|being|although|despite|while)[^,.;\n]{1,80},)?"
)
_SEEMS = rf"(?:is|was|appears|seems|looks|remains|(?:can|should|must|may){_S}be)"
_HAS = (
    rf"(?:{_SEEMS}|has|had|provides|offers|shows|exhibits|demonstrates|delivers|presents|possesses|"
    r"displays|maintains|gives|yields|achieves|features)"
)
_DEGREES = (
    rf"(?:{_S}(?:to{_S}be|to{_S}have|clearly|significantly|much|slightly|noticeably|generally|overall|"
    r"of|an?|the|therefore|thus|also|still|far|considerably|substantially|marginally|somewhat|"
    r"visually|even|definitely|obviously|relatively|notably|markedly|in|considered|rated|judged|"
    rf"deemed|regarded|as){_CLOSE}){{0,6}}"
)
_BETTER, _WORSE = "better|superior|best", "worse|inferior|worst|poorer"
_MORE, _LESS = "higher|highest|greater", "lower|lowest|lesser"
_OF_QUALITY = rf"(?:[\s-]{{1,3}}(?:{_KIND}|and)){{0,4}}[\s-]{{1,3}}quality\b(?!\s?\?)"
_IN_QUALITY = rf"in{_S}(?:terms{_S}of{_S})?(?:the{_S})?(?:its{_S})?(?:their{_S})?{_QUALITY}"
_END = (
    rf"(?=\s*(?:\Z|$|[.,;:!)\]\"'…])|{_S}(?:than|overall|image|one|of{_S}the{_S}two|for|because|due|"
    rf"since|as|and|but|with|{_IN_QUALITY})\b)"
)

IS_BETTER = _pattern(
    rf"(?<![\w-]){_WHICH}{_ASIDE}{_S}(?:"
    rf"(?:{_HAS}(?:{_S}(?!not\b)[\w-]{{1,20}},?){{1,6}}?{_S}and{_S})?"
    rf"(?:{_HAS}|of\b){_DEGREES}{_S}(?:(?:{_BETTER}|{_MORE})|(?P<worse>{_WORSE}|{_LESS})){_OF_QUALITY}|"
    rf"{_SEEMS}{_DEGREES}{_S}(?:(?:{_BETTER}|preferred|preferable)|(?P<worse_>{_WORSE})){_END}|"
    rf"{_SEEMS}{_DEGREES}{_S}(?:higher|(?P<worse__>lower)){_S}{_IN_QUALITY}|"
    rf"(?:outperforms|surpasses)\b|wins\b)"
)
"""As in "The first image is of higher quality", "image 2 is worse"."""

QUALITY_IS_BETTER = _pattern(
    rf"(?<![\w-])(?:(?:the{_S})?{_QUALITY}{_S}of{_S}{_WHICH}{_ASIDE}|"
    rf"{_WHICH.replace('first>', 'first_>').replace('second>', 'second_>')}(?:'s)?{_S}{_QUALITY})"
    rf"{_S}{_SEEMS}{_DEGREES}{_S}(?:(?:{_BETTER}|{_MORE})|(?P<worse>{_WORSE}|{_LESS})){_END}"
)
"""As in "The quality of image 1 is higher"."""

WHICH_IS_BETTER = _pattern(
    rf"(?<![\w-])(?:{_NOUN}{_S}(?:with|of|having){_S}(?:the{_S})?)?"
    rf"(?:(?:{_BETTER}|{_MORE})|(?P<worse>{_WORSE}|{_LESS}))"
    rf"(?:(?:[\s-]{{1,3}}(?:{_KIND}|and)){{0,4}}[\s-]{{1,3}}quality)?(?:{_S}{_NOUN})?"
    rf"(?:{_S}of{_S}the{_S}two)?(?:{_S}{_NOUN})?{_CLOSE}"
    rf"(?:\s?[:=]|{_S}(?:is|was|would{_S}be))(?:{_S}(?:clearly|therefore|thus)){{0,2}}{_OPEN}{_WHICH}"
    r"(?!\s?\w*\?|'s)"
)
"""As in "The better image is the first one"; "higher contrast: image 1" is none."""

PREFERRED = _pattern(
    rf"(?<![\w-])(?:prefer|choose|select|pick|favou?r|go{_S}with|preferred|winner)"
    rf"(?:{_S}{_NOUN})?{_CLOSE}(?:{_S}is)?{_OPEN}{_WHICH}(?!'s)"
)
"""As in "I prefer the first image"."""

LABELLED_IMAGE = _pattern(
    rf"(?:(?<![\w-])(?:overall|conclusion|answer|verdict|decision|result)(?:{_S}is)?{_CLOSE}\s?"
    rf"[:=,-]?{_OPEN}|^[^\w\n]{{0,12}}){_WHICH}[^\w\n?]{{0,12}}$"
)
"""As in "Answer: image 1", or the image alone on its line."""

_ALIKE = rf"(?:similar|comparable|equal|identical|the{_S}same|equivalent|alike)"
TIED = _pattern(
    rf"(?<![\w-])(?:both|the{_S}two|two|these|they)(?:{_S}(?:of{_S}them|of{_S}the|{_NOUN})){{0,2}}"
    rf"{_S}(?:are|have|show|exhibit|share|appear|seem|offer|provide){_DEGREES}"
    rf"(?:{_S}(?:very|roughly|nearly|almost|quite|largely|equally)){{0,2}}{_S}"
    rf"(?:{_ALIKE}(?:{_OF_QUALITY}|{_S}{_IN_QUALITY}|(?=\s*(?:\Z|$|[.,;!])))|good\b|"
    rf"(?:high|low|poor){_OF_QUALITY})"
    rf"|(?<![\w-])neither(?:{_S}(?:of{_S}the{_S}two|{_NOUN})){{0,2}}{_S}{_HAS}{_DEGREES}{_S}"
    rf"(?:{_BETTER}|{_MORE}|{_WORSE}|{_LESS})(?:{_OF_QUALITY}|{_END})"
    rf"|(?<![\w-]){_QUALITY}{_S}is{_DEGREES}(?:{_S}(?:very|roughly|nearly|almost)){{0,2}}{_S}{_ALIKE}\b"
)
"""Both called alike, or neither the better one."""
