"""The user's hooks: commands of theirs that are asked at seven events of a session."""
