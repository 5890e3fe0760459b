"""The words around the letter of an option: what marks it, rejects it, or leads to it."""

from __future__ import annotations

import re


def _set(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


ANSWER_NOUNS = _set(
    "answer answers ans verdict antwort lösung réponse reponse respuesta resposta risposta",
    "antwoord cevap jawaban odpowiedź ответ ответом उत्तर الإجابة الجواب",
    "答案 回答 答 答え 答えは 正解 正解は 解答 正答 정답 정답은 답 답은 đáp án",
)
"""Nouns that announce the answer; what they name is the answer."""

OPTION_NOUNS = _set(
    "option options choice choices letter alternative opción opcion opção opzione alternativa",
    "auswahl wahl buchstabe letra lettre lettera choix scelta keuze optie вариант",
    "选项 選項 選択肢 선택지 보기",
)
"""Nouns that name an option, chosen or not."""

GRADE_NOUNS = _set("grade rating quality classification category label class prediction selection")
"""Nouns that announce an answer only before a colon or a verb of being."""

FITTING = _set(
    "correct right best final appropriate suitable accurate likely richtige richtig correcta",
    "correcto correcte bonne correta corretta juiste beste 正确 正確 最佳 最终",
)
"""What an option is called that is the answer."""

CHOOSING = _set(
    "choose chose choosing select selected selecting pick picked picking opt vote say guess wähle",
    "elijo elegiría escolho scelgo choisis kies 选 選 选择 選擇",
)
"""Verbs whose object is the answer; "go with" is spelled out where they are used."""

CORRECTING = _set("actually wait correction instead meant mean sorry reflection thoughts")
"""Words after which what was said before is taken back."""

LEADING = CORRECTING | _set(
    "so thus therefore hence ergo but finally",
    "conclusion overall summary consequently also donc daher folglich somit entonces luego quindi",
    "portanto 所以 因此 故 应为 应该是 したがって よって 따라서",
)
"""Words after which a conclusion or a correction follows."""

CUES = _set(
    "as is be it's that's its corresponds corresponding matches matching points leads leaning lean",
    "suggests indicates like maybe perhaps probably grade rate rated call classify label equals",
    "means est es ist é è",
)
"""Words after which a letter is an answer if nothing better stands in the reply."""

SMALL = _set(
    "is are was be been being would should must will to the an this one i i'd i'm i'll i've it",
    "it's that's its my our your me we he she they think believe most clearly definitely likely",
    "simply therefore thus then here just only either for with go going toward towards has have",
    "could may might seems appears number ist die der das est la le l es el lo é o a è il ser",
    "sería",
    "是 为 為 应 应该 该 は が を 的 了 就 择 擇 là 은 는 это равно",
    "given using",
)
"""Words that may stand between a mark and its letter."""

NOT = _set(
    "not isn't aren't wasn't don't doesn't didn't wouldn't won't shouldn't can't cannot couldn't",
    "never neither nor doubt nicht kein keine pas jamais não nao 不 不是 不选 不会 并非",
)
"""Words that deny what follows."""

DISCARDING = NOT | _set(
    "except excluding exclude excluded eliminate eliminated eliminating discard discarded unlike",
    "out rejected rejecting than against without of 排除 no non",
)
"""Words right before a letter that is not the answer ("rule out A", "instead of A")."""

HYPOTHETICAL = _set("if whether unless were why wenn si 如果 若")
"""Words of a clause that supposes an answer and gives none."""

CLAUSE_ENDS = _set(
    ", . ; : ! ? and so but because therefore thus hence then which since although while \n"
)
"""Where looking back for a denial stops."""

PREPOSITIONS = _set(
    "to for of in among from based given here that which about , ( on a la de à zu auf auf zur di"
)
"""What follows a noun whose letter comes later ("the answer to this question is B")."""

BEING = _set(
    "is are was be would : = ist est es é è equals becomes remains 是 为 為 は это là 应为 应该是"
)

ALTERNATIVES = _set(
    ", ; / | & or and oder und ou et o y e и или 和 或 或者 及 、 または 및 또는 と"
)
"""What stands between two letters of one list."""

HEDGES = _set("maybe perhaps possibly probably vielleicht peut-être quizás")
"""Words that may stand before a further letter of a list: "A, or maybe B"."""

AFTER_LETTER = _set(
    "because since as is was seems appears due given and or but based which fits matches best",
    "would describes applies can cannot does doesn't isn't has too ist est es é è or oder ou",
    "rather not instead",
)
"""Words that can follow the letter A or I but no article and no pronoun."""

AFTER_CONCLUSION = _set("because since as it given due and which (") | frozenset(",")
"""What may follow a letter that is a conclusion, beside the end of the sentence."""

PRONOUN_VERBS = _set("would can cannot has best as was")
"""Of those, the words that follow the pronoun I all the same, or another subject's name."""

_BEING = (
    r"(?:is|are|was|seems?|appears?|looks?|would be|can be|could be|should be|must be|might be|"
    r"may be|will be|can also be|can therefore be|ist|est|es|é|è|является)"
)
_ADVERB = (
    r"(?:\s(?:to be|clearly|therefore|thus|then|definitely|probably|obviously|simply|just|"
    r"most|the|my|an?|more|very|quite|by far|indeed|actually|single|only|la|le|die|der|el))*"
)
CHOSEN_AFTER = re.compile(
    rf"\s{_BEING}{_ADVERB}\s(?:correct|right|best|answer|appropriate|accurate|fitting|suitable|"
    r"likely|plausible|final|option that|choice that|one that|(?:bonne )?réponse|"
    r"correcte?|correct[ao]|richtig\w*|korrekt\w*|"
    r"respuesta|risposta|corret(?:ta|a)|правильн\w+)\b|"
    r"\s(?:clearly |therefore |thus )*(?:fits|matches|best)\b|"
    r"\s?(?:选项)?(?:是|为)?最?(?:正确|正確|合适|符合)|"
    r"\s?(?:が|は)(?:正しい|正解)|\s?(?:이|가) (?:맞|정답)",
    re.IGNORECASE,
)
REJECTED_AFTER = re.compile(
    rf"\s{_BEING}{_ADVERB}\s(?:not|never|wrong|incorrect|false|ruled|excluded|eliminated|rejected|"
    r"discarded|unlikely|implausible|impossible|less|out\b|too|what|inappropriate|falsch|nicht|"
    r"incorrecta|incorrecto|incorrecte|fausse|faux|errada|sbagliata|off\b|unsuitable|"
    r"(?:second[- ])?tempting|close|неверн\w+)|"
    r"\s(?:\w+n't|cannot|can not|does not|did not|do not|would not|could not|fails|contradicts|"
    r"would (?:need|require|imply|mean|show|look|have|suggest|involve|be (?:if|too|for|when))|"
    r"requires|n'est pas|no es|não é|non è)\b|"
    r"\s?(?:选项)?(?:是|为)?(?:错误|錯誤|不正确|不正確|不对|不是|不符合|不成立)|\s?(?:は|が)(?:誤り|間違|違)",
    re.IGNORECASE,
)
