"""From predictions to scores, summaries and the files of a run; nothing here knows the host."""
