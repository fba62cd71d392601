"""What a sealed statement and the one that the lake gives now differ in, and why."""
