"""The front end without a screen: `exec` and the commands that scripts use."""
