"""How models decline, as patterns over lower-case text; `refusals` says how they are combined.

Each pattern matches at the start of a sentence from which apologies have been removed.
"""

from __future__ import annotations

import re

_SERVICES = (
    "help|assist|provide|analy[sz]e|analy[sz]ing|interpret|evaluate|assess|comply|fulfill?|process|"
    "diagnose|diagnosing|edit|editing|generate|generating|create|creating|modify|produce|comment|"
    "offer|engage|discuss|support|complete|continue|judge|rate|score|grade|examine|review|perform|"
    "give(?! (?:this|it|that) an? )|share|answer|respond|describe|proceed|do (?:that|this|so)"
)
# The verbs of looking and finding are absent: "I cannot see any artifact" is an answer.
_LIMITED_SERVICES = (
    r"view (?:\w+ ){0,2}(?:images?|pictures?|files?)|"
    "identify (?:people|persons?|individuals|anyone|who|the (?:person|people|individual))"
)
_UNABLE = (
    "can't|cannot|can not|won't|will not|must decline|have to decline|decline|refuse|"
    "(?:do not|don't) (?:have the (?:ability|capability|capacity|tools)|feel comfortable)|"
    "(?:am|are|'m|'re) (?:not (?:able|allowed|permitted|authori[sz]ed|qualified|comfortable|going|"
    "in a position|equipped|designed|programmed)|unable|unwilling)"
)

APOLOGY = re.compile(
    r"(?:(?:i am|i'm|we are|we're) (?:\w+ )?sorry|sorry|(?:my |our )?(?:sincere )?apologies|"
    r"(?:i|we) (?:\w+ )?apologi[sz]e|unfortunately|regrettably|"
    r"(?:i am |i'm )?(?:as |just |only )*an? (?:ai|artificial intelligence|text-based|language|"
    r"large language)\b[^,.]{0,60}|thank you for[^,.]{0,60})"
    r"(?: for (?:the|any) [^,.]{0,40})?"
)
"""What may stand before a refusal, without the words that lead on."""

LEAD_ON = re.compile(r"[\s,.:;!-]*(?:\b(?:but|however|and|so|that)\b[\s,]*)*")

DECLINES: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"(?:i|we)(?: (?:really|simply|currently|also|therefore))?(?: |(?='))(?:{_UNABLE})\b"
        rf"(?=.{{0,60}}?\b(?:{_SERVICES}|{_LIMITED_SERVICES})\b)"
    ),
    re.compile(
        r"(?:this|your|the) (?:request|prompt|content|message|image|input|response)s? (?:\w+ ){0,3}"
        r"(?:rejected|blocked|flagged|filtered|refused|violat\w+|against)\b"
        r".{0,80}(?:polic|safety|guideline|moderation|terms|filter|system)"
    ),
    re.compile(
        r"content policy violation|(?:it )?(?:would be|is) (?:in|not )appropriate for me to\b"
    ),
    re.compile(r"(?:that|this)(?:'s| is) (?:not something i can|beyond (?:my|what i))\b"),
    # Chinese
    re.compile(
        "(?:我|我们|本模型)?(?:目前|暂时)?(?:无法|不能|没有能力|不便|没办法|不可以).{0,24}?"
        "(?:提供|协助|帮助|分析|解读|评估|评价|处理|满足|完成|回答|诊断|编辑|生成|执行|打分|评分)"
    ),
    # German
    re.compile(
        r"(?:leider )?(?:kann|darf|bin) ich\b.{0,80}\b(?:nicht|keine)\b|"
        r"ich (?:kann|darf|bin)\b.{0,60}\b(?:nicht|keine)\b.{0,60}\b(?:helfen|behilflich|"
        r"unterstützen|analysieren|bewerten|beurteilen|interpretieren|erstellen|bearbeiten|"
        r"beantworten|in der lage|diagnos\w+)"
    ),
    # French
    re.compile(
        r"je ne (?:peux|puis|suis) (?:malheureusement )?pas "
        r"(?:en mesure |capable |autorisée? |vous )*(?:de |d'|à )?(?:vous )?"
        r"(?:aider|analyser|interpréter|évaluer|fournir|répondre|générer|modifier|créer|traiter|noter)"
    ),
    # Spanish
    re.compile(
        r"no (?:puedo|podemos|me es posible|estoy (?:en condiciones|capacitad[oa]))\s?"
        r"(?:de |para )?(?:ayudar|asistir|analizar|interpretar|evaluar|proporcionar|responder|"
        r"generar|editar|crear|cumplir|calificar|realizar)"
    ),
)

FOREIGN_APOLOGY = re.compile(
    r"(?:非常|很|十分)?(?:抱歉|对不起|遗憾)[,，。!！ ]*(?:但是?)?|"
    r"作为(?:一个|一名)?.{0,16}[,， ]|"
    r"(?:es )?tut mir (?:\w+ )?leid[,.!]? ?(?:aber )?|entschuldigung[,.!]? ?(?:aber )?|leider |"
    r"(?:je suis (?:vraiment )?)?(?:désolée?|navrée?)[,.!]? ?(?:mais )?|malheureusement,? |"
    r"(?:lo siento|lo lamento|disculpa|disculpe|lamentablemente|desafortunadamente)[,.!]? ?"
    r"(?:mucho,? )?(?:pero )?"
)

NOT_A_REFUSAL = re.compile(
    # "I cannot assess the fundus because of the blur" describes the image.
    r"\b(?:due to|owing to|because)\b(?!.*\b(?:polic|guideline|safety|ai\b|language model|rules))|"
    # "I can't diagnose, but the image shows a fracture" goes on with an answer.
    r"[,;] (?:but|however|although) (?!(?:i|if|please|you|feel|we)\b)"
)

REDIRECTS = re.compile(
    r"\b(?:polic(?:y|ies)|guidelines?|safety|privacy|language model|professionals?|doctors?|"
    r"physicians?|radiologists?|clinicians?|specialists?|consult\w*|seek|happy to|glad to|"
    r"feel free|let me know|please|if you(?:'d|r| have| need| would| want| are)?|i can help|"
    r"i can (?:only )?(?:offer|provide|explain|assist)|how (?:can|may) i|is there anything|"
    r"understanding|medical advice|requests?|bitte|wenden|arzt|fach\w+|helfen|fragen|veuillez|"
    r"médecin|professionnels?|aider|questions?|por favor|médico|profesional\w*|ayudar\w*|"
    r"preguntas?)\b|请|建议|咨询|医生|专业|如果您|如果你"
)
"""Sentences that may follow a refusal: excuses, and where to turn instead."""

RESUMES = re.compile(
    r"(?:however|that said|nevertheless|nonetheless|still|based on|overall|in general|but)\b"
    r"(?!.{0,12}\bi(?:'d|'m| can| am| could| would)\b)"
)
"""Beginnings of sentences that give content after all."""
