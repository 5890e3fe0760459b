from __future__ import annotations

import pytest

from medbench_vlmeval.parsing import is_api_failure, is_refusal

REFUSALS = {
    "medical_images": "I'm sorry, but I can't help with analyzing medical images.",
    "unable_to_interpret": "I'm sorry, I am unable to interpret medical images.",
    "evaluate": "I cannot evaluate this",
    "typographic_apostrophe": "I’m sorry, I can’t assist with that request.",
    "apology_as_a_sentence": "I'm sorry. I can't assist with that.",
    "language_model": "As an AI language model, I do not have the ability to view images.",
    "gemini": "I'm just a language model, so I can't help you with that.",
    "bold": "**I'm sorry, but I can't comply with that.**",
    "with_redirection": "I'm sorry, but I can't provide a medical diagnosis. Please consult a "
    "radiologist. If you have other questions, feel free to ask!",
    "two_refusals": "I cannot edit this image. I'm not able to modify pictures of patients.",
    "editing": "Unfortunately, I am not able to edit images directly.",
    "generate": "I can't create images of identifiable medical patients.",
    "people": "Sorry, I can't identify people in images.",
    "policy": "Your request was rejected as a result of our safety system.",
    "policy_violation": "This request violates our content policy.",
    "because_of_policy": "I can't help with that because it is against the safety guidelines.",
    "decline": "I must decline to answer this request.",
    "offers_help": "I'm unable to assess this image. However, I can explain how MRI works.",
    "chinese": "抱歉，我无法分析医学图像。",
    "chinese_model": "作为一个人工智能语言模型，我无法提供医疗诊断。请咨询专业医生。",
    "chinese_short": "对不起，我不能回答这个问题。",
    "german": "Es tut mir leid, aber ich kann dabei nicht helfen.",
    "german_unfortunately": "Leider kann ich diese Bilder nicht beurteilen.",
    "french": "Je suis désolé, mais je ne peux pas analyser des images médicales.",
    "french_short": "Désolé, je ne peux pas vous aider.",
    "spanish": "Lo siento, pero no puedo ayudar con el análisis de imágenes médicas.",
    "spanish_short": "No puedo proporcionar un diagnóstico.",
}

ANSWERS = {
    "empty": "",
    "letter": "C",
    "box": "[10, 20, 30, 40]",
    "no_finding": "I cannot see any motion artifact in this image.",
    "cannot_identify": "I can't identify any lesion; the image is sharp.",
    "cannot_tell": "I cannot tell from this image.",
    "cannot_determine": "I cannot determine",
    "cannot_find": "I could not find a second tumour.",
    "quality_limits": "I cannot assess the posterior segment due to severe blur.",
    "refusal_then_answer": "I'm sorry, but I can't give a diagnosis. The streaks are metal "
    "artifacts. Overall, the quality of this image is reject.",
    "refusal_then_however": "I can't diagnose. However, the image shows a fracture, please consult "
    "a doctor.",
    "refusal_but_answer": "I can't provide a diagnosis, but the image shows strong noise.",
    "answer_then_disclaimer": "The image is blurred. I can't provide medical advice.",
    "quoted_refusal": "The candidate answers \"I'm sorry, I can't help with that\", so Score: 0",
    "sorry_in_text": "The sorry state of the scan suggests motion.",
    "apology_only_then_answer": "Sorry, I made a mistake. The answer is B.",
    "model_described": "The model cannot handle noise and refuses to edit the left ear.",
    "unable_patient": "We are unable to walk because of the fracture, says the report.",
    "french_answer": "Je ne vois pas d'artefact.",
    "german_answer": "Ich kann kein Artefakt erkennen, das Bild ist scharf.",
    "chinese_answer": "图像清晰，没有伪影。",
    "spanish_answer": "No hay artefactos en la imagen.",
    "verdict": "I cannot give this a 2.",
    "long": "I'm sorry, I can't assist with that. " * 40,
}


@pytest.mark.parametrize("text", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_are_recognised(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_and_findings_are_not_refusals(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "Failed to obtain answer via API.",
        "Failed to obtain answer via API. : RetCode A 500",
        "\n Failed to obtain answer: timeout",
        "Failed to obtain answer",
    ],
)
def test_failure_texts_of_the_host_are_recognised(text: str) -> None:
    assert is_api_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "The clinician failed to obtain answers.",
        "It says: Failed to obtain answer via API.",
        "Failed to obtain answers from the patient.",
    ],
)
def test_other_texts_are_no_failure_texts(text: str) -> None:
    assert not is_api_failure(text)
