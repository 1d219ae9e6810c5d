"""The cells of contingency tables: two layouts, quantities of each cell, and reductions over them."""
