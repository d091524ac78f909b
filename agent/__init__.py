"""The agent: the loop, its tools, the session log and the models. It knows no screen.

Front ends meet it at `wire` (commands and events), `worker` (the thread) and `reading` (questions to a log).
"""
