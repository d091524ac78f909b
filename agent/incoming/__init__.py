"""A message between the prompt and the log: the command it names, what it mentions, its pictures, its size.

`taking_in` is the way of one message; the others are its stations. Not the turn that follows (`agent.loop`).
"""
