"""Commands that say how things stand: conventions of models, and the installation."""

from __future__ import annotations

import click


@click.command()
def conventions() -> None:
    """List which coordinates each model family is asked for and read by."""
    from ..conventions import convention_for, families
    from ..evaluation.tables import plain_table

    known = [convention_for("", explicit=entry["family"]) for entry in families()]
    rows = [
        (
            it.family or "",
            it.name if it.source == "explicit" else f"{it.name} (asked in the prompt)",
            it.reference_box_form,
            it.official_parser or "none published",
            it.cited,
        )
        for it in known
    ]
    names = ("family", "convention", "reference box", "official parser", "source")
    click.echo(plain_table(names, rows))
    click.echo("\nwhat follows the question, to the letter:")
    for it in known:
        click.echo(f"  {it.family}: {it.prompt_suffix!r}")
    click.echo()
    click.echo(
        "any other model: the prompt states the convention; MEDBENCH_MEDSG_CONVENTION sets it, "
        "and MEDBENCH_CONVENTIONS names a file with families of your own, one JSON object a line"
    )


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Say in plain words whether host, hook, data and keys are in order, and what to do.

    With --model NAME, build that model inside VLMEvalKit and let it answer for one picture.
    """
    from .. import doctor as doctor_module

    raise SystemExit(doctor_module.main(list(arguments)))
