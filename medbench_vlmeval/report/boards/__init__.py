"""Boards: which runs may be compared, rows, statistics, the check against published figures."""
