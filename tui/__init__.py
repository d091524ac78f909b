"""Front ends over one worker: the full screen, the inline one, and headless; `cli` picks one."""
