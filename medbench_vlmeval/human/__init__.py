"""Blinded sheets for human raters, and how far what they enter agrees with the judge."""
