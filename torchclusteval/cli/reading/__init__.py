"""Labels from files."""
