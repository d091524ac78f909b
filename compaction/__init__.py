"""The context engine: records in, decisions out. No I/O, no clock, no model, no screen.

The words, used the same way everywhere

    context window     what the model accepts in one request: a fact, with a source
    working budget     how much of it we choose to use: a policy
    limit              refuse above it (fact); trigger: act at it (policy); landing: end a rewrite at or under it
    fixed part         system prompt, instructions, tool schemas: in every request, never rewritten
    gate               a place where the size is checked
    prune              replace old tool results by placeholders; no model call
    compaction         replace everything before a cut by a summary; one model call
    rewrite            a prune, a late spill, a compaction, an undo: whatever changes bytes already sent
    prefix, cut, tail  what is summarised, where it ends, what stays word for word
    primer             the session's first user message
    step, turn         one reply with its results; one user message and all up to the next
    view               what the model sees: a fold of the session log

Rooms, from the ground up: `records` and `errors`; `shorten` and `budget`; `view`; `tokens`; `cut`; `prune`, `summary`,
`judge`, `facts`, `cache`; `attempts` and `gates`.
"""
