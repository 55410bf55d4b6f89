"""`find`, and facts about files in its formats."""
