"""Everything that answers requests behind the `agent.model.Model` seam.

`remote` is the client side, `host` the child process that is alone with the provider library, `scripted` the model of
tests and demonstrations. The rest is pure: wordings in, values out. Importing this package imports none of them.
"""
