"""What a project's files were before the agent changed them: kept in the session's folder, given back when asked.

Not the session log, and not the project's own git: nothing here reads its index, hooks or configuration, or writes to
anything of its own but the files people ask to have back.
"""
