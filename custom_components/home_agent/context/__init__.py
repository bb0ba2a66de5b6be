"""What is put beside the sentence: catalogue, states, retrieved entities, within a budget."""
