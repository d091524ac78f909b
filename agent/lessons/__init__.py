"""What a provider's refusal or failure teaches, one module a kind: whether the request goes out again, and how changed.

Not the reading of a refusal (`agent.models`) and no rewrite (`compaction.gates` decides on those from the log).
"""
