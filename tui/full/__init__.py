"""The full-screen front end: the only rooms that know textual."""
