"""What is shown of finished runs, beside what the papers published. Imports no host."""
