"""From users' labels to integer codes.

``options`` checks the options. Then come three steps: ``reading`` (each argument by ``sources``, its labels as
``integers``, which items belong together by ``shapes``), ``keeping`` (mask, missing labels, noise) and ``encoding``.
``integers.read_integers`` reads one side alone, ``spelled`` the cells of files. ``groups_of_items`` numbers the groups
of ``by``, ``group_labels`` holds the labels that codes stand for, ``blocks`` reads codes block by block.
"""
