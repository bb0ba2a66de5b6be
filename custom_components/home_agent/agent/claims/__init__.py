"""Claims of an answer, held against what was called: the words of each language, and the gate."""
