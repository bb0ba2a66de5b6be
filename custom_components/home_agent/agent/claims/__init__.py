"""Claims of an answer, compared with the actual calls: the words of each language, and the gate."""
