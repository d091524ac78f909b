"""The inline front end: prompt_toolkit below a conversation that scrolls away in the terminal's own way."""
