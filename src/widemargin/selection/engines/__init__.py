"""Ways to solve all folds and classes at one C; `widemargin.auto.search` says which one is used."""
