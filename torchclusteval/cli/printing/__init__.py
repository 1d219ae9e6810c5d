"""Scores and measures as text for a terminal, CSV or JSON."""
