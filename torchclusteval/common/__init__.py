"""Helpers for all stages: arithmetic, lazy properties, checks of options, text."""
