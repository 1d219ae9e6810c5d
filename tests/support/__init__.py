"""What several tests share: slow references, random input, fake devices, measured memory."""

from pathlib import Path

GOLDEN_FOLDER = Path(__file__).parents[1] / "golden"
