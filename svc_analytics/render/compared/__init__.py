"""Two periods side by side, as people read them: by figure, by coin, and what moved."""
