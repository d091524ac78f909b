"""What a user asks for beside a message, one module a wish; `dispatch` takes each to its own.

A wish changes the world only by a record, and ends in one `Finished`. Not a turn (that is `agent.loop`).
"""
