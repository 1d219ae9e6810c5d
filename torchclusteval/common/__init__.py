"""Helpers of all stages: arithmetic, lazy properties, checks of options, text."""
