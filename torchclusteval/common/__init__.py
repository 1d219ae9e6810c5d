"""What every stage uses and none owns: arithmetic, lazy properties, checks of options, text for people."""
