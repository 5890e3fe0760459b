"""Pages about runs: results, plots, and every sample, in one HTML file."""
