"""Independent answers to the questions that the engine answers, by methods that share no code with it."""
