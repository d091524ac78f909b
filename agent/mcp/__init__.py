"""MCP servers: other people's tools, over a pipe or HTTP, in a process of their own.

    server      one server as the settings name it          names     what its tools are called
    offered     what a server offers, and its last list on disk
    servers     all of them as a session uses them          tool      one of their tools, for the loop
    host, connection     the child process that is alone with the protocol's library

The library is imported in the child only. Nothing here is started before a server is configured.
"""
