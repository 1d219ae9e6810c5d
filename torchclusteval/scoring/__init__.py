"""Tables and measures to scores: evaluation, the scores of a batch, breakdown by group and item, matching."""
