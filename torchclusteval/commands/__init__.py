"""The commands of the command line, a file each, and what they read and print.

``files`` and ``chunked_files`` read labels, ``clusterings`` picks columns, ``report`` and ``describe`` print.
"""
