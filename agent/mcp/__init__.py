"""MCP servers: other people's tools, prompts and resources, over a pipe or HTTP, in a process of their own.

    server      one server as the settings name it          names     what its tools are called
    offered     its tools, and their last list on disk      prompts   its prompts and resources, and how they are typed
    servers     all of them as a session uses them          held      one of them, and how it is said that it is gone
    tool        one of their tools, for the loop            pictures  what they send to be looked at, checked
    host, connection, plain_values, refusals     the child process that is alone with the protocol's library

The library is imported in the child only. Nothing here is started before a server is configured.
"""
