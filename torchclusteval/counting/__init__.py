"""Codes to counts: ``dispatch`` chooses the layout and the kernel; ``cpu``, ``cuda`` and ``sparse`` count,
``listed`` reads cells that are counted already, ``groups`` listed groups of items, ``intervals`` those of time (tables
of both by ``one_sided``), ``margins`` separates what one side alone groups, ``by_group`` makes tables of groups of
items."""
